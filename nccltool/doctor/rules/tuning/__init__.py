"""Buffers, chunks, channels, threads, policies: values that NCCL rounds, clamps or crashes on."""
