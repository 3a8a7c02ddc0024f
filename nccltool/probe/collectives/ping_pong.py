"""ping_pong: pairs of ranks half the world apart send a message there and back; the time is one way."""

from collections import Counter

from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import Call, Collective, Comm, Homes, Layout, Part, Rates, Tensor


def partner(rank: int, world_size: int) -> int | None:
    """The rank that `rank` plays with, or None for the odd one out.

    Partners are half the world apart, so that with several nodes (ranks numbered node by node) the
    messages cross between nodes. nccl-tests has no such test.
    """
    half = world_size // 2
    if rank >= 2 * half:
        return None
    return rank + half if rank < half else rank - half


def _least_seconds(homes: Homes, rates: Rates) -> float:
    """S c/2, where c ranks inside have a partner outside: each sends once and receives once in a round trip, which
    is two times; and S, because the two of a pair take turns."""
    partners = [partner(rank, len(homes)) for rank in range(len(homes))]
    away = Counter(homes[r] for r, other in enumerate(partners) if other is not None and homes[other] != homes[r])
    crossed = [rate for home, rate in zip(sorted(set(homes)), rates, strict=True) if away[home]]
    loads = [away[home] / 2 for home in sorted(set(homes))]
    return max(base.slowest(loads, rates), 1 / min(crossed)) if crossed else 0.0


def _bind(comm: Comm, send: Tensor, recv: Tensor) -> Call:
    """The lower half sends first; the upper half answers."""
    other = partner(comm.rank, comm.world_size)
    if other is None:
        return lambda: None

    def serve() -> None:
        comm.send(send, other)
        comm.recv(recv, other)

    def answer() -> None:
        comm.recv(recv, other)
        comm.send(send, other)

    return serve if comm.rank < other else answer


def _expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    other = partner(rank, world_size)
    return () if other is None else (Part(0, layout.recv, other, 0),)


COLLECTIVE = Collective(
    order=11,
    nccl_tests="ping_pong",
    placements=("out-of-place",),
    is_point_to_point=True,
    min_world=2,
    trips=2,
    meets_peers=True,
    layout=base.whole,
    bus_factor=base.one_link,  # one message on one link at a time
    least_seconds=_least_seconds,
    bind=_bind,
    expected=_expected,
)
