"""What lines that no dialect knows indicate, by what they are about (logs/complaints.py)."""

import re
from collections.abc import Iterator

from nccltool.triage.causes.base import Clue
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

_EXACT, _LOUD, _PLAIN = 0.5, 0.42, 0.38
"""Above `other` where nothing else is known, and all but the exact below every pattern that fits."""
_RAISED = 0.6
"""Above what an exception of a system says of the program that raised it (causes/app_error.py)."""
_ENDS = ("job.completed", "torchrun.succeeded", "bench.average", "bench.bounds", "run.passed", "nccl.destroyed")
_WORK = ("job.progress", "bench.row", "job.serving")
_LINES_OF_A_BOX = 8
"""What Open MPI prints between two rows of dashes is rarely longer."""
_MANY_LINES = 60
"""More lines than the stacks and last messages of ranks take after an error that ends a job."""
_OF_NCCL = re.compile(r"\b[NR]CCL WARN\b")
"""What NCCL prints before its errors; `other` counts one that is not known for a little less than a loud one."""
_WHY = "an unknown line complains about this"


def clues(label: str, timeline: Timeline) -> Iterator[Clue]:
    """The reasons for a cause that unknown lines give: the first about it behind which nothing went on."""
    told = list(_that_count(timeline))
    if label in ("none", "other"):
        if told and not timeline.failed:
            strength = -0.6 if label == "none" else 0.36
            yield Clue(strength, "a line reports a failure that triage does not know", told[0])
        return
    if about := [one for one in told if one.get("about") == label]:
        exact = next((one for one in about if one.get("exact")), None)
        loud = next((one for one in about if one.get("grade") == "loud"), None)
        loud = loud or next((one for one in about if _OF_NCCL.search(one.text)), None)
        yield Clue(_EXACT if exact else _LOUD if loud else _PLAIN, _WHY, exact or loud or about[0])
    if timeline.failed and (raised := _raised(timeline)) and label in (raised.get("about"), raised.get("within")):
        yield Clue(_RAISED, "a rank raised an exception that is about this", raised)


def ends_in_trouble(timeline: Timeline) -> bool:
    """Whether a job stood still, or neither went on nor came to its end behind the last report of a failure."""
    loud = (one for one in timeline.of("log.complaint") if one.get("grade") == "loud")
    last = max((*timeline.troubles(), *loud), key=timeline.place, default=None)
    goes_on = last is None or any(timeline.before(last, later) for later in timeline.of(*_ENDS, *_WORK))
    return timeline.hung is not None or not goes_on


def _raised(timeline: Timeline) -> LogEvent | None:
    """The first exception; of those that follow from something elsewhere, the first one in a known library."""
    return timeline.first("app.exception") or timeline.first("app.echo", where=lambda e: e.get("within"))


def _that_count(timeline: Timeline) -> Iterator[LogEvent]:
    """The loud ones; the others where the job failed, or where nothing shows that it works."""
    works = timeline.has(*_ENDS, *_WORK)
    for one in _open(timeline):
        if one.get("grade") == "loud" or timeline.failed or (one.get("grade") == "plain" and not works):
            yield one


def _open(timeline: Timeline) -> list[LogEvent]:
    """The complaints behind which the job neither came to its end nor made a step."""
    told = timeline.of("log.complaint")
    if not told or timeline.recovered:
        return []
    after = timeline.of(*_ENDS, *_WORK)
    told = tuple(one for one in told if one.get("about") or not _goes_on_for_long(timeline, one))
    held = [one for one in told if not any(_takes_back(one, later) for later in timeline.of("log.instead"))]
    return [one for one in held if not any(timeline.before(one, later) for later in after)]


def _goes_on_for_long(timeline: Timeline, told: LogEvent) -> bool:
    """Whether many lines follow it: a program that an error ends prints few more."""
    return len(timeline.order) == 1 and timeline.lines_read - told.line > _MANY_LINES


def _takes_back(told: LogEvent, later: LogEvent) -> bool:
    """Whether a line of the same box says that the program continues without what is missing."""
    return told.file == later.file and 0 < later.line - told.line <= _LINES_OF_A_BOX
