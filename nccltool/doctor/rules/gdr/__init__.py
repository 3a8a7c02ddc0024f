"""GPU Direct RDMA: distance to the NIC, kernel support, flushes, and redirected peer traffic."""
