"""NCCL_SOCKET_IFNAME and the interfaces that it meets: which one NCCL takes, and whether others can reach it.
NCCL over TCP: threads, sockets, ports, retries, NCCL_COMM_ID; and the interfaces of Gloo.
"""
