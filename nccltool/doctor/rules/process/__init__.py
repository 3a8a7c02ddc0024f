"""Settings of a rank's process: launchers, torch, CUDA, and pairs that defeat each other."""
