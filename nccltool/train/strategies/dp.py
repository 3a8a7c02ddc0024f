"""nn.DataParallel."""

NO_TUNING = "it runs in one process"
NO_CURVE = "it runs in one process, so the number of ranks is always 1"
