"""Comparisons and baselines for people and programs."""
