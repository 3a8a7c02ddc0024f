"""scatter: each rank ends with its part of the root's data."""

from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import ROOT, Call, Collective, Comm, Part, Tensor


def _bind(comm: Comm, send: Tensor, recv: Tensor) -> Call:
    parts = list(send.chunk(comm.world_size)) if comm.rank == ROOT else None
    return lambda: comm.scatter(recv, parts, ROOT)


COLLECTIVE = Collective(
    order=7,
    nccl_tests="scatter",
    rccl_tests=("Scatter",),
    placements=("out-of-place", "in-place"),
    is_rooted=True,
    meets_peers=True,
    layout=base.scattered,
    bus_factor=base.without_own_part,  # src/scatter.cu
    least_seconds=base.parts_of_root,  # the parts of all ranks outside leave at the root; its own enter elsewhere
    bind=_bind,
    expected=lambda rank, world_size, layout: (Part(0, layout.recv, ROOT, rank * layout.recv),),
)
