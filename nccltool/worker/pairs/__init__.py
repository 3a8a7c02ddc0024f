"""Measuring pairs and groups of nodes on a rank."""
