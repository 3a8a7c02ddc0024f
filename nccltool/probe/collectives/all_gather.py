"""all_gather: every rank ends with the parts of all ranks, in rank order."""

from nccltool.probe.collectives.base import Collective, all_parts, gathered, parts_across, without_own_part

COLLECTIVE = Collective(
    order=2,
    nccl_tests="all_gather",
    rccl_tests=("AllGather",),
    placements=("out-of-place", "in-place"),
    is_symmetric=True,
    copied_by_gloo="recv",
    layout=gathered,
    bus_factor=without_own_part,
    least_seconds=parts_across,  # the parts of all ranks outside enter, its own leave
    bind=lambda comm, send, recv: lambda: comm.all_gather(recv, send),
    expected=all_parts,
)
