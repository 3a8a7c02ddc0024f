"""Measuring pairs and groups of nodes in one job."""
