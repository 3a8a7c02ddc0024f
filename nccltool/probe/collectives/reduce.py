"""reduce: the root ends with the reduction over all ranks."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import ROOT, Comm, Layout, Part, Tensor, Traits, slowest, whole

TRAITS = Traits(
    order=5,
    nccl_tests="reduce",
    rccl_tests=("Reduce",),
    placements=("in-place",),
    reduces=True,
    is_rooted=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds `elements`."""
    return whole(elements, element_size)


def bus_factor(world_size: int) -> float:
    """1: all data crosses the one link of the root (doc/PERFORMANCE.md)."""
    return 1.0


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """The root's side receives S once, every other side sends it once."""
    return slowest([1.0 for _ in rates], rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Reduce `recv`, which is the send buffer too."""
    return lambda: comm.reduce(recv, ROOT)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The reduction at the root; the other ranks' buffers are undefined."""
    return (Part(0, layout.recv, None, 0),) if rank == ROOT else ()
