"""The ways in which ranks that a script starts itself find each other, tried on this host."""
