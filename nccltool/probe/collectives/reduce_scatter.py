"""reduce_scatter: each rank ends with its part of the reduction."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import (
    Comm,
    Layout,
    Part,
    Tensor,
    Traits,
    parts_across,
    scattered,
    slowest,
    without_own_part,
)

TRAITS = Traits(
    order=3,
    nccl_tests="reduce_scatter",
    rccl_tests=("ReduceScatter",),
    placements=("out-of-place", "in-place"),
    reduces=True,
    is_symmetric=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total that each rank puts in; it keeps the n-th part."""
    return scattered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (doc/PERFORMANCE.md)."""
    return without_own_part(world_size)


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """Its contribution to the parts outside leaves, theirs to its own enter."""
    return slowest(parts_across(homes), rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Reduce `send` and keep this rank's part in `recv`."""
    return lambda: comm.reduce_scatter(recv, send)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The reduction of every rank's chunk number `rank`."""
    return (Part(0, layout.recv, None, rank * layout.recv),)
