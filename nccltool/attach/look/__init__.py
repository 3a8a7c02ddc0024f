"""Looking at a host without touching the job: one source a file, each with a deadline."""
