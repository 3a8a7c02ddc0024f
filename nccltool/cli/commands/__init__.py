"""The commands, one a file: options in, an order out, and what is shown."""
