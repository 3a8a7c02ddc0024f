"""gather: the root ends with the parts of all ranks, in rank order."""

from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import ROOT, Call, Collective, Comm, Tensor


def _bind(comm: Comm, send: Tensor, recv: Tensor) -> Call:
    parts = list(recv.chunk(comm.world_size)) if comm.rank == ROOT else None
    return lambda: comm.gather(send, parts, ROOT)


COLLECTIVE = Collective(
    order=6,
    nccl_tests="gather",
    rccl_tests=("Gather",),
    placements=("out-of-place", "in-place"),
    is_rooted=True,
    meets_peers=True,
    copied_by_gloo="recv",
    layout=base.gathered,
    bus_factor=base.without_own_part,  # src/gather.cu
    least_seconds=base.parts_of_root,  # the parts of all ranks outside enter at the root; its own leave elsewhere
    bind=_bind,
    expected=lambda rank, world_size, layout: base.all_parts(rank, world_size, layout) if rank == ROOT else (),
)
