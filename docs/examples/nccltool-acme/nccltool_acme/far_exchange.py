"""far_exchange: each rank sends to the rank half the world away, and receives from the one as far before it."""

from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import Call, Collective, Comm, Homes, Part, Rates, Tensor

NCCLTOOL_PLUGIN = 1


def _least_seconds(homes: Homes, rates: Rates) -> float:
    """S for each rank inside whose message comes from outside."""
    half = len(homes) // 2
    into = [home for rank, home in enumerate(homes) if homes[rank - half] != home]
    return base.slowest([float(into.count(home)) for home in sorted(set(homes))], rates)


def _bind(comm: Comm, send: Tensor, recv: Tensor) -> Call:
    """Send and receive at the same time."""
    half = comm.world_size // 2
    to, source = (comm.rank + half) % comm.world_size, (comm.rank - half) % comm.world_size
    return lambda: comm.exchange(send, to, recv, source)


COLLECTIVE = Collective(
    order=12,
    nccl_tests="far_exchange",
    placements=("out-of-place",),
    is_point_to_point=True,
    min_world=2,
    layout=base.whole,
    bus_factor=base.one_link,  # one direction is counted while both are busy
    least_seconds=_least_seconds,
    bind=_bind,
    expected=lambda rank, world, layout: (Part(0, layout.recv, (rank - world // 2) % world, 0),),
)
