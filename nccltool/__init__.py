"""Measure, check, and diagnose the collectives of a GPU cluster."""

__version__ = "0.1.0"
