"""all_to_all: each rank sends chunk i to rank i and ends with one chunk of every rank."""

from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import Collective, Homes, Layout, Part, Rates


def _layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is what one rank sends in total; a peer gets the n-th part."""
    part = base.per_rank_count(elements, world_size, element_size)
    total = part * world_size
    return Layout(total, total, part, total * element_size, total * element_size)


def _least_seconds(homes: Homes, rates: Rates) -> float:
    """S g (n-g)/n: each of g ranks inside receives a chunk from every rank outside."""
    world = len(homes)
    return base.slowest([count * (world - count) / world for count in base.inside(homes)], rates)


def _expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Chunk i is chunk number `rank` of rank i's input."""
    count = layout.count
    return tuple(Part(i * count, count, i, rank * count) for i in range(world_size))


COLLECTIVE = Collective(
    order=8,
    nccl_tests="alltoall",
    rccl_tests=("AlltoAll", "AllToAll"),
    placements=("out-of-place",),
    is_symmetric=True,
    meets_peers=True,
    layout=_layout,
    bus_factor=base.without_own_part,
    least_seconds=_least_seconds,
    bind=lambda comm, send, recv: lambda: comm.all_to_all(recv, send),
    expected=_expected,
)
