"""all_reduce: every rank ends with the reduction over all ranks."""

from collections.abc import Callable

from nccltool.probe.collectives.base import Comm, Layout, Part, Tensor, whole
from nccltool.probe.result import Placement

NAME = "all_reduce"
REDUCES = True
PLACEMENTS: tuple[Placement, ...] = ("in-place",)
MIN_WORLD = 1
TRIPS = 1


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds `elements`."""
    return whole(elements, element_size)


def bus_factor(world_size: int) -> float:
    """2(n-1)/n: each element needs n-1 additions and n-1 copies over n links (doc/PERFORMANCE.md)."""
    return 2 * (world_size - 1) / world_size


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """All-reduce `recv`, which is the send buffer too."""
    return lambda: comm.all_reduce(recv)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The reduction, everywhere."""
    return (Part(0, layout.recv, None, 0),)
