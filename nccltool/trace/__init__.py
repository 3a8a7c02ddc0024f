"""Traces of torch.profiler: what steps spent their time on, and which rank the others wait for."""
