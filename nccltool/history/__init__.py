"""What happened before: the outcome of every run for each host in one file, and what it says of drift."""
