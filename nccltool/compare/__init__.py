"""Runs against runs, noise-aware; and baselines."""
