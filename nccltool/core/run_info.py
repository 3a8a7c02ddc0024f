"""The circumstances of a run, as every document has them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInfo:
    """The circumstances of a run."""

    id: str
    started: str
    """RFC 3339, UTC."""
    command: tuple[str, ...]
    nccltool: str
    torch: str | None
    backend: str | None
    backend_version: str | None
    backend_reason: str | None
    nodes: int | None
    emulated: bool
    world_size: int | None
    hosts: tuple[str, ...]
    limit_source: str | None = None
    """What the limits of the measurements were worked out from."""
    limit_unknown_reason: str | None = None
    """Why they are not known, where they should be: several hosts, or GPUs."""
    transport: str | None = None
    """What carries the bytes, as far as it is known: emulated, local, nvlink, socket, ib, roce."""
    nics: str | None = None
    """The network devices of a host and their rates; empty = no network is used."""
    gpu: str | None = None
    """Models of the ranks' GPUs; empty = they have none."""
    ranks_per_node: int | None = None
    cuda_graph: bool | None = None
    """The calls were replayed from a CUDA graph."""
    tool: str | None = None
    """What measured it, where it was imported; None = nccltool."""
    duration_s: float | None = None
    """From the start of its processes to their end; None where this command did not start them all."""
