"""RDMA devices and their ports: which ones NCCL takes, whether they work, and what keeps NCCL from them.
RDMA over Ethernet: which GID NCCL takes on a port, whether others can reach it, and traffic classes. How NCCL
talks RDMA: time-outs, retries, queue pairs, routing, ordering, and rails.
"""
