"""reduce_scatter: each rank ends with its part of the reduction."""

from nccltool.probe.collectives.base import Collective, Part, parts_across, scattered, without_own_part

COLLECTIVE = Collective(
    order=3,
    nccl_tests="reduce_scatter",
    rccl_tests=("ReduceScatter",),
    placements=("out-of-place", "in-place"),
    reduces=True,
    is_symmetric=True,
    copied_by_gloo="send",
    layout=scattered,
    bus_factor=without_own_part,
    # its contribution to the parts outside leaves, summed or not; theirs to its own enter
    least_seconds=parts_across,
    bind=lambda comm, send, recv: lambda: comm.reduce_scatter(recv, send),
    expected=lambda rank, world_size, layout: (Part(0, layout.recv, None, rank * layout.recv),),
)
