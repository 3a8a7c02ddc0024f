"""broadcast: every rank ends with the root's data."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import ROOT, Comm, Layout, Part, Tensor, Traits, slowest, whole

TRAITS = Traits(
    order=4,
    nccl_tests="broadcast",
    rccl_tests=("Broadcast",),
    placements=("in-place",),
    is_rooted=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds `elements`."""
    return whole(elements, element_size)


def bus_factor(world_size: int) -> float:
    """1: all data crosses the one link of the root (doc/PERFORMANCE.md)."""
    return 1.0


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """The root's side sends S once, every other side receives it once."""
    return slowest([1.0 for _ in rates], rates)


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """Broadcast `recv`, which is the send buffer too."""
    return lambda: comm.broadcast(recv, ROOT)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The root's input, everywhere."""
    return (Part(0, layout.recv, ROOT, 0),)
