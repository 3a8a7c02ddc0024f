"""Facts of a host for people."""
