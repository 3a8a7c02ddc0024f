"""all_to_all: each rank sends chunk i to rank i and ends with one chunk of every rank."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import (
    Comm,
    Layout,
    Part,
    Tensor,
    Traits,
    inside,
    per_rank_count,
    slowest,
    without_own_part,
)

TRAITS = Traits(
    order=8,
    nccl_tests="alltoall",
    rccl_tests=("AlltoAll", "AllToAll"),
    placements=("out-of-place",),
    is_symmetric=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is what one rank sends in total; a peer gets the n-th part."""
    part = per_rank_count(elements, world_size, element_size)
    total = part * world_size
    return Layout(total, total, part, total * element_size, total * element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (doc/PERFORMANCE.md)."""
    return without_own_part(world_size)


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """Each rank inside receives a chunk from every rank outside."""
    world = len(homes)
    return slowest([count * (world - count) / world for count in inside(homes)], rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Exchange the chunks of `send` into `recv`."""
    return lambda: comm.all_to_all(recv, send)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Chunk i is chunk number `rank` of rank i's input."""
    count = layout.count
    return tuple(Part(i * count, count, i, rank * count) for i in range(world_size))
