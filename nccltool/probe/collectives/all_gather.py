"""all_gather: every rank ends with the parts of all ranks, in rank order."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import (
    Comm,
    Layout,
    Part,
    Tensor,
    Traits,
    gathered,
    parts_across,
    slowest,
    without_own_part,
)

TRAITS = Traits(
    order=2,
    nccl_tests="all_gather",
    rccl_tests=("AllGather",),
    placements=("out-of-place", "in-place"),
    is_symmetric=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total; each rank sends its n-th part."""
    return gathered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (doc/PERFORMANCE.md)."""
    return without_own_part(world_size)


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """The parts of all ranks outside enter, its own leave."""
    return slowest(parts_across(homes), rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Gather every rank's `send` into `recv`."""
    return lambda: comm.all_gather(recv, send)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Chunk i is the input of rank i."""
    return tuple(Part(i * layout.count, layout.count, i, 0) for i in range(world_size))
