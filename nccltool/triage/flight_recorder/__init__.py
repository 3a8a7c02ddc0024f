"""LOOK at torch's flight recorder: the dumps of the ranks become events, as if torch had said it in a log.

Ranks that made different calls at the same place of a process group, ranks that did not call a collective in which
others wait, sends without a recv, ranks that wait for each other, and ranks that left no dump. Of a process group,
what is older than the oldest entry that all ranks still have is not compared.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from nccltool.triage.flight_recorder import collectives, point_to_point
from nccltool.triage.flight_recorder.dumps import RecorderDump, dump, is_named_so
from nccltool.triage.flight_recorder.log_events import event, listed
from nccltool.triage.logs.base import LogEvent

__all__ = ["RecorderDump", "dump", "events", "is_named_so"]

_MOST_MISSING = 0.5
"""Share of the ranks without a dump above which somebody has just not collected them."""


def events(dumps: Sequence[RecorderDump]) -> Iterator[LogEvent]:
    """What the dumps of a job's ranks show."""
    of = {one.rank: one for one in dumps}
    yield from _without_dump(of)
    if circle := point_to_point.circle(of):
        yield circle  # who is late is late for that reason
        return
    for group in sorted(set(chain.from_iterable(one.groups for one in dumps))):
        members = {one.rank: one for one in dumps if one.groups.get(group)}
        if len(members) > 1:
            yield from collectives.differing(group, members)
            yield from collectives.behind(group, members)
    yield from point_to_point.unlike(of)


def _without_dump(of: dict[int, RecorderDump]) -> Iterator[LogEvent]:
    """Ranks that left none while the others did: a rank that lives writes one when a time-out is noticed."""
    world = frozenset[int]().union(*(one.world for one in of.values()))
    missing = sorted(world - of.keys())
    if len(of) > 1 and 0 < len(missing) <= _MOST_MISSING * len(world):
        some = of[min(of)]
        text = f"Flight recorder: ranks [{listed(missing)}] of {len(world)} left no dump, the others did"
        yield event("torch.no-dump", some, text, {"ranks": listed(missing)}, rank=missing[0])
