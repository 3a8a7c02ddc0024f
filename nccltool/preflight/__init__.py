"""A suite of stages against expectations: one verdict for a cluster."""
