"""SHOW runs to people who did not run them: one file with the verdict, the evidence, and what to do."""
