"""gather: the root ends with the parts of all ranks, in rank order."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import (
    ROOT,
    Comm,
    Layout,
    Part,
    Tensor,
    Traits,
    gathered,
    parts_of_root,
    slowest,
    without_own_part,
)

TRAITS = Traits(
    order=6,
    nccl_tests="gather",
    rccl_tests=("Gather",),
    placements=("out-of-place",),
    is_rooted=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is the total at the root; each rank sends its n-th part."""
    return gathered(elements, world_size, element_size)


def bus_factor(world_size: int) -> float:
    """(n-1)/n: a rank's own part does not travel (src/gather.cu)."""
    return without_own_part(world_size)


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """The parts of all ranks outside enter at the root; its own leave elsewhere."""
    return slowest(parts_of_root(homes), rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Gather every rank's `send` into the root's `recv`."""
    parts = list(recv.chunk(comm.world_size)) if comm.rank == ROOT else None
    return lambda: comm.gather(send, parts, ROOT)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """At the root, chunk i is the input of rank i."""
    if rank != ROOT:
        return ()
    return tuple(Part(i * layout.count, layout.count, i, 0) for i in range(world_size))
