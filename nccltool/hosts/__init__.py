"""What one host is: its facts, how NCCL reads its settings there, and hosts compared."""
