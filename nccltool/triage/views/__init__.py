"""What triage found, for people."""
