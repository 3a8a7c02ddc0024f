"""Buffers, chunks, channels, threads, and policies: values that NCCL rounds or clamps, or that crash it."""
