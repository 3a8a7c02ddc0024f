"""NCCL's own reading of its settings, and what it would choose: interfaces, adapters, values."""
