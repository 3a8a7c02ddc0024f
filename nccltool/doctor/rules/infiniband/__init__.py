"""RDMA devices and their ports: which ones NCCL uses, whether they work, and what prevents their use.
RDMA over Ethernet: which GID NCCL uses on a port, whether other nodes can reach it, and traffic classes.
RDMA connections: timeouts, retries, queue pairs, routing, ordering, and rails.
"""
