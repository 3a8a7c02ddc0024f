"""JUDGE an uneven exchange: how uneven it is, and whether one destination is slower than the others. Pure.

The time of the exchange says nothing about destinations: those that get more take longer, and senders wait for
them. So each destination is timed by itself, with the bytes that the busiest gets from each rank. One that is
slower then has a slow link or host; it does not just receive more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.core import statistics
from nccltool.core.units import format_bytes

ROUNDS = 15
"""Over all destinations, so that a disturbance of a host affects all of them."""
MIN_ROUNDS = 7
"""With six numbers, the 95 % interval of a median is their whole range."""
MOST_DESTINATIONS = 64
BUDGETS = 5
"""Times the budget of a row (--budget) that timing its destinations may take."""
SLOWER = 1.5
"""Times as long as the next slowest: processes on busy CPUs cause smaller differences."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnevenTraffic:
    """What an operation under a skew sent, and where."""

    skew: str
    imbalance: float
    """Bytes that the busiest rank received, over the mean of all ranks."""
    busiest_rank: int | None
    """None = all receive the same."""
    slowest_destination: int | None = None
    """The rank that takes longer than the others to get the same bytes; None = none stands out, or not known."""
    slowest_ratio: float | None = None
    """How many times as long as the next slowest."""
    unknown_reason: str | None = None
    """Why it is not known whether a destination is slower."""


@dataclass(frozen=True, slots=True)
class SlowestDestination:
    """A destination that is slower than all others."""

    rank: int
    ratio: float


def slowest(ns: Sequence[Sequence[int]]) -> SlowestDestination | None:
    """The destination that stands out: `ns[destination][round]`, each with the same bytes."""
    times = [statistics.summarise([float(one) for one in mine]) for mine in ns]
    middles = [median(mine) for mine in ns]
    last = max(range(len(ns)), key=middles.__getitem__)
    others = [rank for rank in range(len(ns)) if rank != last]
    if not others:
        return None
    ratio = middles[last] / max(max(middles[rank] for rank in others), 1)
    apart = times[last].seconds_between[0] > max(times[rank].seconds_between[1] for rank in others)
    return SlowestDestination(last, ratio) if apart and ratio >= SLOWER else None


def lines(rows: Sequence[tuple[str, int, UnevenTraffic]]) -> Iterator[str]:
    """A line for each operation, at its largest size: (operation, bytes, traffic)."""
    largest: dict[str, tuple[int, UnevenTraffic]] = {}
    for op, size, traffic in rows:
        if op not in largest or size > largest[op][0]:
            largest[op] = size, traffic
    for op, (size, traffic) in largest.items():
        busiest = "all ranks receive the same"
        if traffic.busiest_rank is not None:
            busiest = f"rank {traffic.busiest_rank} receives {traffic.imbalance:.1f} times the mean"
        yield f"{op} at {format_bytes(size)}: {busiest}; {_of_destinations(traffic)}"


def _of_destinations(traffic: UnevenTraffic) -> str:
    if traffic.unknown_reason:
        return f"slowest destination unknown: {traffic.unknown_reason}"
    if traffic.slowest_destination is None:
        return "no destination stands out as slow"
    return (
        f"slowest destination: rank {traffic.slowest_destination}, which takes {traffic.slowest_ratio:.1f} times "
        "as long as the next slowest for the same bytes"
    )
