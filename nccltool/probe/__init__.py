"""Bandwidth and latency of collectives: from words to an order, to a run, to a verdict."""
