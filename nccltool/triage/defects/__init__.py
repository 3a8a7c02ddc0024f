"""Known defects of releases of NCCL, RCCL, torch, and plugins, and pairs of releases that do not work together."""
