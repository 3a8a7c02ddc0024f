"""CHECK what NCCL Inspector's records show of each communicator: bus bandwidth, and which rank comes last.

The rank that comes last to a collective spends the least time in it, so that time is the one without waits. The
records mark no steps, so the calls are cut into eight stretches, each one observation: a rank that is
late in few steps of many is last in a few stretches.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.core.text import counted, named
from nccltool.trace import inspector_sends
from nccltool.trace.arrivals import BY_CHANCE, chance_of, last_of
from nccltool.trace.inspector_calls import CommunicatorKey, InspectorCalls, RankCalls
from nccltool.trace.inspector_sends import SendRoute, Transfers
from nccltool.trace.names import SYNCHRONIZING

STRETCHES = 8
LEAST_CALLS = 200
"""To cut into stretches: a step of FSDP has about 100 collectives (3 a layer)."""
LEAST_SHARE = 0.1
"""Of the time of collectives: `losses.MUCH`, since the share of a step is unknown."""
LEAST_S = 1e-5
"""A call: launching a kernel takes up to that long."""
SEND_RECV = "send_recv"
_MOST_NAMED = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveUse:
    """The calls of one operation and size in a communicator."""

    operation: str
    bytes: int
    calls: int
    time_s: float
    """Median; of the rank with the least time in each call, and of the end with the least in each transfer."""
    busbw_bytes_per_s: float | None
    """Of that time; None = the operation has no definition of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunicatorUse:
    """What the records of one communicator show."""

    communicator: str
    ranks: int
    nodes: int
    ranks_read: tuple[int, ...]
    collectives: tuple[CollectiveUse, ...]
    """The longest total time first."""
    matched: int
    """Calls that all ranks have and that wait for all."""
    waited_s: tuple[float, ...]
    """How long each of `ranks_read` waited in them for the last one."""
    last_in: tuple[int, ...]
    """In how many of eight stretches of the calls each of `ranks_read` came last."""
    late_rank: int | None
    """In this communicator; None = none stands out."""
    host: str
    """Of the late rank."""
    pid: int | None
    gain: float | None
    """By how much collectives would be shorter if the rank that is last most often came no later than the next."""
    why_not: str
    """Why no rank is named."""


@dataclass(slots=True)
class _Matched:
    """The calls of a communicator that all of its ranks have."""

    stretches: list[list[float]]
    """Seconds of each rank, by stretch."""
    waited_s: list[float]
    calls: int = 0
    is_cpu_clock: bool = False


def communicators(calls: InspectorCalls) -> tuple[CommunicatorUse, ...]:
    """Those with the most ranks first."""
    found = (_of(key, calls, len(calls.found)) for key in calls.found)
    return tuple(sorted(found, key=lambda one: (-one.ranks, one.communicator)))


def _of(key: CommunicatorKey, calls: InspectorCalls, count: int) -> CommunicatorUse:
    ranks, by_operation = calls.ranks_of(key), calls.found[key]
    matched = _Matched([[0.0] * len(ranks) for _ in range(STRETCHES)], [0.0] * len(ranks))
    for operation, by_rank in by_operation.items():
        if operation in SYNCHRONIZING and sorted(by_rank) == ranks:
            _match([by_rank[rank] for rank in ranks], matched)
    steps = matched.stretches if matched.calls and len(ranks) > 1 else []
    last_in, gains = last_of(steps) if steps else ([0] * len(ranks), [])
    first = max(range(len(ranks)), key=last_in.__getitem__)
    shares = [mine[first] / (median(row) or 1.0) for mine, row in zip(gains, steps, strict=True)]
    gain = median(shares) if shares else None
    why = _why_not(key, ranks, matched, chance_of(last_in[first], STRETCHES, len(ranks), count) if steps else 1.0)
    if not why and gain is not None and matched.calls:
        per_call = median(mine[first] for mine in gains) * STRETCHES / matched.calls
        why = _too_small(gain, per_call)
    late = None if why else ranks[first]
    place = (
        next(by_rank[late] for by_rank in by_operation.values() if late in by_rank) if late is not None else None
    )
    return CommunicatorUse(
        communicator=key.id,
        ranks=key.ranks,
        nodes=key.nodes,
        ranks_read=tuple(ranks),
        collectives=tuple(
            sorted(
                (*_rows(key, by_operation), *_sends(calls.sends.get(key, {}))),
                key=lambda row: (-row.time_s * row.calls, row.operation),
            )
        ),
        matched=matched.calls,
        waited_s=tuple(matched.waited_s),
        last_in=tuple(last_in),
        late_rank=late,
        host=place.host if place else "",
        pid=place.pid if place else None,
        gain=gain,
        why_not=why,
    )


def _match(of_ranks: Sequence[RankCalls], into: _Matched) -> None:
    """Calls of one operation, by number; the same number with another size is another call."""
    common = set(zip(of_ranks[0].numbers, of_ranks[0].sizes, strict=True))
    for other in of_ranks[1:]:
        common &= set(zip(other.numbers, other.sizes, strict=True))
    at = {call: place for place, call in enumerate(sorted(common))}
    least = [float("inf")] * len(at)
    for mine in of_ranks:
        for call, took_us in zip(zip(mine.numbers, mine.sizes, strict=True), mine.times_us, strict=True):
            if (place := at.get(call)) is not None:
                least[place] = min(least[place], took_us)
    for column, mine in enumerate(of_ranks):
        for call, took_us in zip(zip(mine.numbers, mine.sizes, strict=True), mine.times_us, strict=True):
            if (place := at.get(call)) is not None:
                into.stretches[place * STRETCHES // len(at)][column] += took_us / 1e6
                into.waited_s[column] += (took_us - least[place]) / 1e6
        into.is_cpu_clock |= mine.is_cpu_clock
    into.calls += len(at)


def _why_not(key: CommunicatorKey, ranks: Sequence[int], matched: _Matched, chance: float) -> str:
    if len(ranks) < key.ranks:
        missing = sorted(set(range(min(key.ranks, len(ranks) + _MOST_NAMED + 1))) - set(ranks))
        more = ", ..." if key.ranks - len(ranks) > _MOST_NAMED else ""
        return f"no file of rank {', '.join(map(str, missing[:_MOST_NAMED]))}{more} was read"
    if key.ranks < 2:
        return "it has one rank"
    if matched.is_cpu_clock:
        return "some times are those of the CPU, not of the kernel"
    if matched.calls < LEAST_CALLS:
        return f"{counted(matched.calls, 'call')} matched; at least {LEAST_CALLS} are needed"
    if chance > BY_CHANCE:
        return "no rank is last more often than chance explains"
    return ""


def _too_small(gain: float, per_call_s: float) -> str:
    if gain < LEAST_SHARE:
        return f"the rank last most often makes collectives less than {LEAST_SHARE * 100:.0f} % longer"
    return (
        ""
        if per_call_s >= LEAST_S
        else f"the rank last most often delays a call by less than {LEAST_S * 1e6:.0f} us"
    )


def _rows(key: CommunicatorKey, by_operation: Mapping[str, Mapping[int, RankCalls]]) -> Iterator[CollectiveUse]:
    for operation, by_rank in by_operation.items():
        least: dict[tuple[int, int], float] = {}
        for mine in by_rank.values():
            for size, number, took_us in zip(mine.sizes, mine.numbers, mine.times_us, strict=True):
                least[size, number] = min(least.get((size, number), took_us), took_us)
        times: dict[int, list[float]] = {}
        for (size, _), took_us in least.items():
            times.setdefault(size, []).append(took_us / 1e6)
        for size, of_size in times.items():
            time_s, factor = median(of_size), _bus_factor(operation, key.ranks)
            rate = None if factor is None else size * factor / time_s
            yield CollectiveUse(
                operation=operation, bytes=size, calls=len(of_size), time_s=time_s, busbw_bytes_per_s=rate
            )


def _sends(routes: Mapping[SendRoute, Transfers]) -> Iterator[CollectiveUse]:
    for size, times_us in inspector_sends.by_size(routes):
        time_s = median(times_us) / 1e6
        yield CollectiveUse(
            operation=SEND_RECV, bytes=size, calls=len(times_us), time_s=time_s, busbw_bytes_per_s=size / time_s
        )


def _bus_factor(operation: str, ranks: int) -> float | None:
    """As nccl-tests defines it; None = it does not."""
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if operation in ("all_gather", "reduce_scatter", "all_to_all"):
        return (ranks - 1) / ranks
    return 1.0 if operation in ("broadcast", "reduce") else None


def late(found: Sequence[CommunicatorUse]) -> tuple[CommunicatorUse, ...]:
    """Those in which a rank is late."""
    return tuple(one for one in found if one.late_rank is not None)


def rank_of_job(of: CommunicatorUse, found: Sequence[CommunicatorUse]) -> int | None:
    """The late rank's number in the job: that of the only communicator with all ranks; None = unknown."""
    largest = [one for one in found if one.ranks == max(other.ranks for other in found)]
    is_whole = all(len(one.ranks_read) == one.ranks for one in found)
    return of.late_rank if largest == [of] and is_whole else None


def told(of: CommunicatorUse) -> str:
    """Who came last, and why nobody is named."""
    order = sorted(range(len(of.ranks_read)), key=lambda at: -of.last_in[at])
    last = [f"rank {of.ranks_read[at]} in {of.last_in[at]}" for at in order if of.last_in[at]]
    lasts = f"; last of {STRETCHES} parts: {named(last, 4)}" if last else ""
    why = f"; no rank named: {of.why_not}" if of.why_not else ""
    return f"communicator {of.communicator}: {counted(of.matched, 'collective')} matched{lasts}{why}"
