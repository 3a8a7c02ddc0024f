"""The n-th collective of a process group on one rank is the n-th on the others: no clock is compared."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from nccltool.trace.result import MatchedGroup, RankTrace, TracedCollective

_MOST_NUMBERS = 8


def matched(traces: Sequence[RankTrace]) -> tuple[MatchedGroup, ...]:
    """All groups of which at least two ranks have collectives that wait for everybody."""
    members = _members(traces)
    found = []
    for (group, ranks), calls in members.items():
        if len(calls) > 1 or (ranks and len(ranks) > 1):
            found.append(_match(group, ranks, calls, traces))
    return tuple(sorted(found, key=lambda one: (-len(one.collectives), one.group)))


_Calls = dict[int, list[TracedCollective]]


def _members(traces: Sequence[RankTrace]) -> dict[tuple[str, tuple[int, ...]], _Calls]:
    """By group: its name, with its ranks where they are known, since names repeat."""
    found: dict[tuple[str, tuple[int, ...]], _Calls] = {}
    for trace in traces:
        for one in trace.collectives:
            key = (one.group, trace.groups.get(one.group, ()))
            if trace.rank is not None:
                found.setdefault(key, {}).setdefault(trace.rank, []).append(one)
    return found


def _match(group: str, ranks: tuple[int, ...], calls: _Calls, traces: Sequence[RankTrace]) -> MatchedGroup:
    present = tuple(sorted(calls))
    if why := "; ".join(_hindered(group, calls, traces)):
        return MatchedGroup(group=group, ranks=present, unmatched=why)
    rows = tuple(zip(*(calls[rank] for rank in present), strict=True))
    world = ranks or tuple(range(max((trace.world_size or 0 for trace in traces), default=0)))
    unnamed = ""
    if not world:
        unnamed = "the traces do not say which ranks the group has"
    elif missing := sorted(set(world) - set(present)):
        more = ", ..." if len(missing) > _MOST_NUMBERS else ""
        unnamed = f"no trace of rank {', '.join(map(str, missing[:_MOST_NUMBERS]))}{more} was read"
    return MatchedGroup(group=group, ranks=present, collectives=rows, unnamed=unnamed)


def _hindered(group: str, calls: _Calls, traces: Sequence[RankTrace]) -> Iterator[str]:
    """Why collectives of the same number may not be the same."""
    if not group:
        yield "the events do not name their process group"
        return
    by_rank = {trace.rank: trace for trace in traces}
    cut = sorted(rank for rank in calls if by_rank[rank].ends_early or by_rank[rank].is_cut)
    if cut:
        yield f"the trace of rank {cut[0]} is incomplete"
        return
    first = {by_rank[rank].steps[0].number for rank in calls if by_rank[rank].steps}
    if len(first) > 1:
        yield f"the traces begin with different steps: {', '.join(map(str, sorted(first)[:_MOST_NUMBERS]))}"
        return
    rank, *others = sorted(calls)
    for other in others:
        for number, pair in enumerate(zip_longest(calls[rank], calls[other]), 1):
            mine, yours = pair
            if mine is None or yours is None or not _alike(mine, yours):
                yield f"collective {number} is {_told(mine)} on rank {rank} and {_told(yours)} on rank {other}"
                return


def _alike(one: TracedCollective, other: TracedCollective) -> bool:
    uneven = one.operation in ("all_to_all", "all_gather", "reduce_scatter")
    same = uneven or one.elements is None or other.elements is None or one.elements == other.elements
    return one.operation == other.operation and one.dtype == other.dtype and same


def _told(one: TracedCollective | None) -> str:
    if one is None:
        return "missing"
    size = "" if one.elements is None else f" of {one.elements} elements"
    return f"{one.operation or 'unknown'}{size}"
