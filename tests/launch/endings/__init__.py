"""Endings of ranks on GPUs, recorded as they would reach the runner, and who was to blame. See replay.py."""
