"""send_recv: each rank sends to the next one and receives from the one before, in a ring."""

from collections import Counter

from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import Call, Collective, Comm, Homes, Part, Rates, Tensor


def _least_seconds(homes: Homes, rates: Rates) -> float:
    """S for each rank inside whose neighbour in the ring is outside."""
    into = Counter(home for rank, home in enumerate(homes) if homes[rank - 1] != home)
    return base.slowest([float(into[home]) for home in sorted(set(homes))], rates)


def _bind(comm: Comm, send: Tensor, recv: Tensor) -> Call:
    after = (comm.rank + 1) % comm.world_size
    before = (comm.rank - 1) % comm.world_size
    return lambda: comm.exchange(send, after, recv, before)


COLLECTIVE = Collective(
    order=10,
    nccl_tests="sendrecv",
    rccl_tests=("SendRecv",),
    placements=("out-of-place",),
    is_point_to_point=True,
    min_world=2,
    meets_peers=True,
    layout=base.whole,
    bus_factor=base.one_link,  # one direction is counted while both are busy (src/sendrecv.cu)
    least_seconds=_least_seconds,
    bind=_bind,
    expected=lambda rank, world_size, layout: (Part(0, layout.recv, (rank - 1) % world_size, 0),),
)
