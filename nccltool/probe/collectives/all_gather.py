"""all_gather: every rank ends with the parts of all ranks, in rank order."""

from collections.abc import Callable

from nccltool.probe.collectives.base import Comm, Layout, Part, Tensor, gathered, without_own_part
from nccltool.probe.result import Placement

NAME = "all_gather"
REDUCES = False
PLACEMENTS: tuple[Placement, ...] = ("out-of-place", "in-place")
MIN_WORLD = 1
TRIPS = 1


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total; each rank sends its n-th part."""
    return gathered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (doc/PERFORMANCE.md)."""
    return without_own_part(world_size)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Gather every rank's `send` into `recv`."""
    return lambda: comm.all_gather(recv, send)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Chunk i is the input of rank i."""
    return tuple(Part(i * layout.count, layout.count, i, 0) for i in range(world_size))
