"""What runs on every node and rank: the only place that imports torch."""
