"""What one rank says of itself before anything starts."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class RankFacts:
    """What one rank says of itself before anything is measured."""

    rank: int
    node_rank: int
    """-1: the launcher does not number the nodes."""
    local_rank: int
    world_size: int
    host: str
    host_id: str
    """Boot id and network namespace: equal for ranks that share one network stack."""
    pid: int
    python: str
    torch: str
    nccl: str | None
    """None = this torch has no NCCL."""
    nccltool: str
    gpu: str | None
    """UUID or PCI address of the rank's GPU; None = it has none."""
    gpu_name: str | None = None
    host_addresses: tuple[str, ...] | None = None
    """What the host's own name resolves to; None = it does not resolve."""
