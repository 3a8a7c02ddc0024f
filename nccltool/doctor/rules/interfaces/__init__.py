"""NCCL_SOCKET_IFNAME and the interfaces it matches: which one NCCL uses, and whether other nodes can reach it.
NCCL over TCP: threads, sockets, ports, retries, NCCL_COMM_ID; and the interfaces that Gloo uses.
"""
