"""Smoke training runs, held against a single process."""
