"""send_recv: each rank sends to the next one and receives from the one before, in a ring."""

from collections import Counter
from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import Comm, Layout, Part, Tensor, Traits, slowest, whole

TRAITS = Traits(
    order=9,
    nccl_tests="sendrecv",
    rccl_tests=("SendRecv",),
    placements=("out-of-place",),
    is_point_to_point=True,
    min_world=2,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds `elements`."""
    return whole(elements, element_size)


def bus_factor(world_size: int) -> float:
    """1: one direction is counted while both are busy (src/sendrecv.cu)."""
    return 1.0


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """S for each rank inside whose neighbour in the ring is outside."""
    into = Counter(home for rank, home in enumerate(homes) if homes[rank - 1] != home)
    return slowest([float(into[home]) for home in sorted(set(homes))], rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Send to rank + 1 while receiving from rank - 1."""
    after = (comm.rank + 1) % comm.world_size
    before = (comm.rank - 1) % comm.world_size
    return lambda: comm.exchange(send, after, recv, before)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The input of the rank before."""
    return (Part(0, layout.recv, (rank - 1) % world_size, 0),)
