"""send_recv: each rank sends to the next one and receives from the one before, in a ring."""

from collections.abc import Callable

from nccltool.probe.collectives.base import Comm, Layout, Part, Tensor, whole
from nccltool.probe.result import Placement

NAME = "send_recv"
REDUCES = False
PLACEMENTS: tuple[Placement, ...] = ("out-of-place",)
MIN_WORLD = 2
TRIPS = 1


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds `elements`."""
    return whole(elements, element_size)


def bus_factor(world_size: int) -> float:
    """1: one direction is counted while both are busy (src/sendrecv.cu)."""
    return 1.0


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Send to rank + 1 while receiving from rank - 1."""
    after = (comm.rank + 1) % comm.world_size
    before = (comm.rank - 1) % comm.world_size
    return lambda: comm.exchange(send, after, recv, before)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The input of the rank before."""
    return (Part(0, layout.recv, (rank - 1) % world_size, 0),)
