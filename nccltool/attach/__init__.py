"""A job that runs now, looked at from outside: what each rank does, and who holds it up."""
