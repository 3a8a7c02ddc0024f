"""Judge what was seen of a job, without I/O."""
