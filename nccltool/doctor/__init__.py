"""NCCL settings and host facts, linted by rules."""
