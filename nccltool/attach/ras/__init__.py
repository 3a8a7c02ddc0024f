"""NCCL's RAS service: a client that only reads, and the text and JSON documents of NCCL 2.24 to 2.32."""
