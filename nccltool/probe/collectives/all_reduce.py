"""all_reduce: every rank ends with the reduction over all ranks."""

from collections.abc import Callable, Sequence

from nccltool.probe.collectives.base import Comm, Layout, Part, Tensor, Traits, slowest, whole

TRAITS = Traits(
    order=1,
    nccl_tests="all_reduce",
    rccl_tests=("AllReduce",),
    placements=("in-place",),
    reduces=True,
    is_symmetric=True,
    is_reduced_by_switches=True,
)


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds `elements`."""
    return whole(elements, element_size)


def bus_factor(world_size: int) -> float:
    """2(n-1)/n: each element needs n-1 additions and n-1 copies over n links (doc/PERFORMANCE.md)."""
    return 2 * (world_size - 1) / world_size


def least_seconds(homes: Sequence[int], rates: Sequence[float]) -> float:
    """S enters or leaves each boundary, and 2 S (k-1) all k together."""
    return max(slowest([1.0 for _ in rates], rates), 2 * (len(rates) - 1) / sum(rates))


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """All-reduce `recv`, which is the send buffer too."""
    return lambda: comm.all_reduce(recv)


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The reduction, everywhere."""
    return (Part(0, layout.recv, None, 0),)
