"""reduce_scatter: each rank ends with its part of the reduction."""

from collections.abc import Callable

from nccltool.probe.collectives.base import Comm, Layout, Part, Tensor, scattered, without_own_part
from nccltool.probe.result import Placement

NAME = "reduce_scatter"
REDUCES = True
PLACEMENTS: tuple[Placement, ...] = ("out-of-place", "in-place")
MIN_WORLD = 1
TRIPS = 1


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total that each rank puts in; it keeps the n-th part."""
    return scattered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (doc/PERFORMANCE.md)."""
    return without_own_part(world_size)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Reduce `send` and keep this rank's part in `recv`."""
    return lambda: comm.reduce_scatter(recv, send)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The reduction of every rank's chunk number `rank`."""
    return (Part(0, layout.recv, None, rank * layout.recv),)
