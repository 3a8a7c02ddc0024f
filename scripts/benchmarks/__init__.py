"""What `scripts/bench` measures: one question a file, each a ratio to a yardstick of the same run."""
