"""Who runs here: the ranks of jobs, what started them, and ranks that are missing."""
