"""The root cause of a failure, out of logs and flight recorders."""
