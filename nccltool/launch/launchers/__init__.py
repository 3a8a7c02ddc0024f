"""How ranks come to be: one way a file, each a pure function of the job and the environment."""
