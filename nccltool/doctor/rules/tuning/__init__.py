"""Buffers, chunks, channels, threads, policies: values that NCCL rounds, cuts, or dies of."""
