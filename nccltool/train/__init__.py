"""Smoke trainings, held against a single process."""
