"""What a process was at work with while others waited for it: bars that are not full, files that are written."""

import re
from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

_WAITS = (
    "torch.timeout",
    "gloo.timeout",
    "store.get-failed",
    "torch.barrier",
    "torch.barrier-echo",
    "torch.no-block",
    "store.too-few",
    "job.task-lost",
)
_WORK = ("job.loading", "job.at-work")
_GOES_ON = re.compile(r"\bstill\b|\.\.\.\s*$|\u2026\s*$")
_STEPS = ("job.progress", "bench.row", "job.serving")


def beside_wait(timeline: Timeline) -> LogEvent | None:
    """The work that was going on when the first wait ended; None where it was done, or steps went on behind it."""
    waited = timeline.first(*_WAITS)
    if waited is None:
        return None
    going_on = [
        event for event in _open(timeline) if not _done(timeline, event, waited) and not _raised(timeline, event)
    ]
    behind = [event for event in going_on if timeline.before(waited, event)]
    own = {(event.file, event.line) for event in going_on}
    steps = [step for step in timeline.of(*_STEPS) if (step.file, step.line) not in own]
    steps = [step for step in steps if timeline.before(step, waited)]
    before = [event for event in going_on if not steps or timeline.before(steps[-1], event)]
    found = behind or [event for event in before if event.get("done") or _last_word(timeline, event, waited)]
    return found[-1] if found and not _trains(timeline, waited) else None


def _open(timeline: Timeline) -> Iterator[LogEvent]:
    for event in timeline.of(*_WORK):
        if event.get("done") not in ("100", event.get("of") or "100"):
            yield event


def _done(timeline: Timeline, event: LogEvent, waited: LogEvent) -> bool:
    """Whether the same work of the same writer came to its end before the wait did."""
    full = (other for other in timeline.of(*_WORK) if other.get("done") in ("100", other.get("of") or "100"))
    own = (other for other in full if other.label == event.label and other.get("what") == event.get("what"))
    return any(timeline.before(event, other) and timeline.before(other, waited) for other in own)


def _last_word(timeline: Timeline, event: LogEvent, waited: LogEvent) -> bool:
    """Whether another writer than the one that waited had said nothing since."""
    if not _GOES_ON.search(event.text) or not event.label or event.label == waited.label:
        return False
    own = (other for other in timeline.everything() if other.label == event.label and other is not event)
    return not any(timeline.before(event, other) and timeline.before(other, waited) for other in own)


def _raised(timeline: Timeline, event: LogEvent) -> bool:
    """Whether its writer failed at it."""
    failed = (other for other in timeline.of("app.exception") if event.label and other.label == event.label)
    return any(timeline.before(event, other) for other in failed)


def _trains(timeline: Timeline, waited: LogEvent) -> bool:
    """Whether steps went on behind the wait."""
    return any(timeline.before(waited, step) for step in timeline.of(*_STEPS))
