"""What was seen of a job: frozen data that hosts send, that a folder saves, and that is judged without I/O."""
