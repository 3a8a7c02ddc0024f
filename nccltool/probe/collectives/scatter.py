"""scatter: each rank ends with its part of the root's data."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import (
    ROOT,
    Comm,
    Layout,
    Part,
    Tensor,
    Traits,
    parts_of_root,
    scattered,
    slowest,
    without_own_part,
)

TRAITS = Traits(
    order=7,
    nccl_tests="scatter",
    rccl_tests=("Scatter",),
    placements=("out-of-place",),
    is_rooted=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total at the root; each rank receives the n-th part."""
    return scattered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (src/scatter.cu)."""
    return without_own_part(world_size)


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """The parts of all ranks outside leave at the root; its own enter elsewhere."""
    return slowest(parts_of_root(homes), rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Scatter the root's `send` into every rank's `recv`."""
    parts = list(send.chunk(comm.world_size)) if comm.rank == ROOT else None
    return lambda: comm.scatter(recv, parts, ROOT)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Chunk number `rank` of the root's input."""
    return (Part(0, layout.recv, ROOT, rank * layout.recv),)
