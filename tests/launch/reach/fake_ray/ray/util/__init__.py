"""Of Ray."""
