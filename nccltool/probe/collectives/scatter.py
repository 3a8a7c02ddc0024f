"""scatter: each rank ends with its part of the root's data."""

from collections.abc import Callable

from nccltool.probe.collectives.base import ROOT, Comm, Layout, Part, Tensor, scattered, without_own_part
from nccltool.probe.result import Placement

NAME = "scatter"
REDUCES = False
PLACEMENTS: tuple[Placement, ...] = ("out-of-place",)
MIN_WORLD = 1
TRIPS = 1


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total at the root; each rank receives the n-th part."""
    return scattered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (src/scatter.cu)."""
    return without_own_part(world_size)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Scatter the root's `send` into every rank's `recv`."""
    parts = list(send.chunk(comm.world_size)) if comm.rank == ROOT else None
    return lambda: comm.scatter(recv, parts, ROOT)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Chunk number `rank` of the root's input."""
    return (Part(0, layout.recv, ROOT, rank * layout.recv),)
