"""gather: the root ends with the parts of all ranks, in rank order."""

from collections.abc import Callable

from nccltool.probe.collectives.base import ROOT, Comm, Layout, Part, Tensor, gathered, without_own_part
from nccltool.probe.result import Placement

NAME = "gather"
REDUCES = False
PLACEMENTS: tuple[Placement, ...] = ("out-of-place",)
MIN_WORLD = 1
TRIPS = 1


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total at the root; each rank sends its n-th part."""
    return gathered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (src/gather.cu)."""
    return without_own_part(world_size)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Gather every rank's `send` into the root's `recv`."""
    parts = list(recv.chunk(comm.world_size)) if comm.rank == ROOT else None
    return lambda: comm.gather(send, parts, ROOT)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """At the root, chunk i is the input of rank i."""
    if rank != ROOT:
        return ()
    return tuple(Part(i * layout.count, layout.count, i, 0) for i in range(world_size))
