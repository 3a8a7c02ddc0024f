"""nn.DataParallel."""
