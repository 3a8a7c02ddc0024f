"""A machine with GPUs that is not there: commands that are started with it believe in them."""
