"""GPU Direct RDMA: how near a NIC must be, the kernel's part, flushes, and what redirects peer traffic."""
