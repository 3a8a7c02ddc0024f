"""Timing and checking operations on a rank."""
