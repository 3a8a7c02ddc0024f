"""LOOK at logs: the lines of NCCL, torch, launchers and kernels become events. One dialect a file."""
