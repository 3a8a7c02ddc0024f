"""Who alone had not reached a place in the program that all others had, when the job stopped there."""

from collections import OrderedDict
from dataclasses import dataclass, field

from nccltool.triage.logs.base import LogEvent

_MOST_PLACES = 64
_MOST_WRITERS = 4096
_MOST_LINES = 1900
"""Fewer than the reader hands on of one kind: behind that, who is not told of may have got there."""
_WAITS = frozenset(
    {
        "torch.timeout",
        "torch.barrier-echo",
        "gloo.timeout",
        "store.get-failed",
        "torch.no-block",
        "job.nothing-more",
        "job.stalled",
    }
)


@dataclass(frozen=True, slots=True)
class OddOneOut:
    """The one that was late, and the line of the last that was there."""

    of: str
    name: str
    event: LogEvent


@dataclass(slots=True)
class _Place:
    """A text that several report, and who did so."""

    event: LogEvent
    there: set[str] = field(default_factory=set)


class Milestones:
    """Follows what each rank, host, or task reports until others wait for it."""

    def __init__(self) -> None:
        self._places: dict[str, OrderedDict[str, _Place]] = {}
        self._closed = False
        self._lines = 0

    def add(self, event: LogEvent) -> None:
        if event.kind in _WAITS:
            self._closed = True
        elif event.kind == "job.milestone" and not self._closed:
            self._lines += 1
            places = self._places.setdefault(event.get("of"), OrderedDict())
            place = places.setdefault(event.get("what"), _Place(event))
            if len(place.there) < _MOST_WRITERS:
                place.there.add(event.get("who"))
                place.event = event
            places.move_to_end(event.get("what"))
            if len(places) > _MOST_PLACES:
                places.popitem(last=False)

    def odd(self) -> OddOneOut | None:
        """Who is missing at the last place that the others reached; None before anybody waits in vain."""
        if not self._closed or self._lines > _MOST_LINES:
            return None
        for of, places in self._places.items():
            reached = list(places.values())
            everyone = set().union(*(place.there for place in reached))
            gap = _gap(everyone)
            met = [number for number, place in enumerate(reached) if place.there == everyone]
            if gap and met:
                return OddOneOut(of, gap, reached[met[-1]].event)
            for place in reversed(reached[met[0] + 1 :] if met and len(everyone) > 2 else []):
                missing = everyone - place.there
                if len(missing) == 1:
                    return OddOneOut(of, missing.pop(), place.event)
        return None


def _gap(names: set[str]) -> str | None:
    """The one number that is missing between those that are there."""
    numbers = {int(name) for name in names if name.isdecimal()}
    missing = set(range(max(numbers, default=0))) - numbers
    return str(missing.pop()) if len(missing) == 1 and len(numbers) > 2 and len(numbers) == len(names) else None
