"""The life of one rank."""
