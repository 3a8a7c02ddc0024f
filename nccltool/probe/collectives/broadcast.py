"""broadcast: every rank ends with the root's data."""

from nccltool.probe.collectives.base import ROOT, Collective, Part, all_of_it, one_link, whole

COLLECTIVE = Collective(
    order=4,
    nccl_tests="broadcast",
    rccl_tests=("Broadcast",),
    placements=("in-place",),
    is_rooted=True,
    layout=whole,
    bus_factor=one_link,
    least_seconds=all_of_it,  # the root's side sends S once, every other side receives it once
    bind=lambda comm, send, recv: lambda: comm.broadcast(recv, ROOT),
    expected=lambda rank, world_size, layout: (Part(0, layout.recv, ROOT, 0),),
)
