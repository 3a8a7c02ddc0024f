"""Looking at a job for as long as it runs, at a bounded cost."""
