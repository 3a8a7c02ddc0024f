"""What each rank did, from the events of a run: in which phase and operation it was, and how it ended. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from nccltool.core.units import format_bytes
from nccltool.launch import events
from nccltool.report.material import RankStretch

_reader = events.EventReader(events.Beat, events.Enter, events.Exited, events.Failed, events.Bye)
_STOPPED = ("T", "t")
"""States of /proc: stopped by a signal, or by a debugger."""
_MOST = 20_000
"""Stretches: of a run of many ranks, the last of them."""


@dataclass(slots=True)
class _Course:
    """Where a rank is."""

    rank: int
    begin: int
    what: str = "starting"
    is_waiting: bool = False
    is_end: bool = False
    is_stopped: bool = False
    operation: str = ""
    done: list[RankStretch] = field(default_factory=list)

    def go(
        self, at: int, what: str, is_waiting: bool = False, is_end: bool = False, is_stopped: bool = False
    ) -> None:
        """To another phase, unless it is there already, or has ended."""
        state = (what, is_waiting, is_stopped)
        if self.is_end or state == (self.what, self.is_waiting, self.is_stopped):
            return
        self.close(at)
        self.begin, self.is_end = at, is_end
        self.what, self.is_waiting, self.is_stopped = state

    def close(self, at: int) -> None:
        if at > self.begin:
            self.done.append(
                RankStretch(
                    rank=self.rank,
                    begin=self.begin,
                    end=at,
                    what=self.what,
                    is_waiting=self.is_waiting,
                    is_end=self.is_end,
                    is_stopped=self.is_stopped,
                )
            )


def of(lines: Iterable[bytes]) -> tuple[RankStretch, ...]:
    """By rank, each in the order of its events."""
    courses: dict[int, _Course] = {}
    at = 0
    for line in lines:
        event = _reader.from_json(line.lstrip(events.RECORD_SEPARATOR))
        if event is None:
            continue
        at += 1
        rank: int = event.rank  # type: ignore[attr-defined]
        _take(courses.setdefault(rank, _Course(rank, at)), event, at)
    for course in courses.values():
        course.close(at + 1)
    return tuple(one for rank in sorted(courses) for one in courses[rank].done)[-_MOST:]


def _take(course: _Course, event: events.Event, at: int) -> None:
    match event:
        case events.Enter():
            course.operation = event.label or f"{event.op} at {format_bytes(event.bytes)}"
            course.go(at, course.operation)
        case events.Beat():
            where = f"{event.phase} in {course.operation}" if event.step >= 0 and course.operation else event.phase
            course.go(at, where, is_waiting=event.calls % 2 == 1, is_stopped=event.state in _STOPPED)
        case events.Failed():
            course.go(at, f"raised: {event.text.splitlines()[0] if event.text else 'an exception'}", is_end=True)
        case events.Exited():
            how = f"killed by signal {-event.code}" if event.code < 0 else f"exited with {event.code}"
            course.go(at, how, is_end=True)
        case events.Bye():
            course.go(at, "done", is_end=True)
