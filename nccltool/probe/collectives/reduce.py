"""reduce: the root ends with the reduction over all ranks."""

from nccltool.probe.collectives.base import ROOT, Collective, Part, all_of_it, one_link, whole

COLLECTIVE = Collective(
    order=5,
    nccl_tests="reduce",
    rccl_tests=("Reduce",),
    placements=("in-place",),
    reduces=True,
    is_rooted=True,
    layout=whole,
    bus_factor=one_link,
    least_seconds=all_of_it,  # the root's side receives S once, every other side sends it once
    bind=lambda comm, send, recv: lambda: comm.reduce(recv, ROOT),
    # the other ranks' buffers are undefined
    expected=lambda rank, world_size, layout: (Part(0, layout.recv, None, 0),) if rank == ROOT else (),
)
