"""LOOK at torch's flight recorder: the dumps of the ranks become events, as if torch had said it in a log.

Ranks that made different calls at the same place of a process group, ranks that did not call a collective in which
others wait, sends without a recv, ranks that wait for each other, and ranks that left no dump. Of a process group,
what is older than the oldest entry that all ranks still have is not compared.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from nccltool.triage.flight_recorder import point_to_point
from nccltool.triage.flight_recorder.dumps import RecordedCall, RecorderDump, dump, is_named_so, of_json
from nccltool.triage.logs.base import LogEvent

__all__ = ["RecorderDump", "dump", "events", "is_named_so", "of_json"]

_MOST_MISSING = 0.5
"""Share of the ranks without a dump above which somebody has just not collected them."""


def events(dumps: Sequence[RecorderDump]) -> Iterator[LogEvent]:
    of = {one.rank: one for one in dumps}
    yield from _without_dump(of)
    if circle := point_to_point.circle(of):
        yield circle  # who is late is late for that reason
        return
    for group in sorted(set(chain.from_iterable(one.groups for one in dumps))):
        members = {one.rank: one for one in dumps if one.groups.get(group)}
        if len(members) > 1:
            yield from _differing(group, members)
            yield from _behind(group, members)
    yield from point_to_point.unlike(of)


def _without_dump(of: dict[int, RecorderDump]) -> Iterator[LogEvent]:
    """Ranks that left none while the others did: a rank that lives writes one when a time-out is noticed."""
    world = frozenset[int]().union(*(one.world for one in of.values()))
    missing = sorted(world - of.keys())
    if len(of) > 1 and 0 < len(missing) <= _MOST_MISSING * len(world):
        some = of[min(of)]
        text = f"Flight recorder: ranks [{_listed(missing)}] of {len(world)} left no dump, but the others did"
        yield some.shows("torch.no-dump", text, {"ranks": _listed(missing)}, rank=missing[0])


def _differing(group: str, members: Mapping[int, RecorderDump]) -> Iterator[LogEvent]:
    """The first place at which calls differ: what follows it differs for that reason."""
    since = max(min(one.groups[group]) for one in members.values())
    places = sorted({place for one in members.values() for place in one.groups[group] if place >= since})
    for place in places:
        calls = {rank: one.groups[group][place] for rank, one in members.items() if place in one.groups[group]}
        kinds = Counter(call.compared for call in calls.values()).most_common()
        if len(kinds) > 1:
            odd = min(rank for rank, call in calls.items() if call.compared == kinds[-1][0])
            other = min(rank for rank, call in calls.items() if call.compared == kinds[0][0])
            order = _swapped(members[odd].groups[group], members[other].groups[group], place)
            text = (
                f"Flight recorder: rank {odd} is in {calls[odd].told}, rank {other} in {calls[other].told}:"
                f" collective #{place} of process group {group}{order}{calls[odd].at}"
            )
            fields = {"first": str(odd), "second": str(other), "sequence": str(place)}
            yield members[odd].shows("torch.fingerprint", text, fields)
            return


def _swapped(odd: Mapping[int, RecordedCall], other: Mapping[int, RecordedCall], place: int) -> str:
    """Whether each makes the call of the other next: then it is their order that differs."""
    now, later = (odd[place], other[place]), (other.get(place + 1), odd.get(place + 1))
    alike = all(next_ and call.compared == next_.compared for call, next_ in zip(now, later, strict=True))
    return ", in a different order" if alike else ""


def _behind(group: str, members: Mapping[int, RecorderDump]) -> Iterator[LogEvent]:
    """Ranks that have not begun a collective in which others wait."""
    last = {rank: max(one.groups[group]) for rank, one in members.items()}
    least = min(last.values())
    late = sorted(rank for rank, number in last.items() if number == least)
    waiting = {
        rank: call
        for rank, one in members.items()
        if (call := one.groups[group].get(least + 1)) is not None and not call.finished
    }
    if waiting:
        first = min(waiting)
        text = (
            f"Flight recorder: ranks [{_listed(late)}] have not called collective #{least + 1} of process group"
            f" {group}, {waiting[first].told}, for which ranks [{_listed(sorted(waiting))}] wait"
            f"{waiting[first].at}"
        )
        fields = {"ranks": _listed(late), "done": str(least), "next": str(least + 1)}
        yield members[late[0]].shows("torch.behind", text, fields)


def _listed(ranks: Iterable[int]) -> str:
    return ", ".join(map(str, ranks))
