"""all_reduce: every rank ends with the reduction over all ranks."""

from nccltool.probe.collectives.base import Collective, Homes, Part, Rates, all_of_it, whole


def _least_seconds(homes: Homes, rates: Rates) -> float:
    """S enters or leaves each boundary, and 2 S (k-1) all k together: of each element, k-1 messages bring the
    contributions of k sides together, and k-1 hand the result out."""
    return max(all_of_it(homes, rates), 2 * (len(rates) - 1) / sum(rates))


COLLECTIVE = Collective(
    order=1,
    nccl_tests="all_reduce",
    rccl_tests=("AllReduce",),
    placements=("in-place",),
    reduces=True,
    is_symmetric=True,
    is_reduced_by_switches=True,
    layout=whole,
    # each element needs n-1 additions and n-1 copies over n links (doc/PERFORMANCE.md)
    bus_factor=lambda world_size: 2 * (world_size - 1) / world_size,
    least_seconds=_least_seconds,
    bind=lambda comm, send, recv: lambda: comm.all_reduce(recv),
    expected=lambda rank, world_size, layout: (Part(0, layout.recv, None, 0),),
)
