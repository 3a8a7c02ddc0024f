"""What lines that no dialect knows speak for, by what they are about (logs/complaints.py)."""

from collections.abc import Iterator

from nccltool.triage.causes.base import Clue
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

_LOUD, _SOFT = 0.42, 0.38
"""Above `other` where nothing else is known, and below every pattern that fits."""
_GOES_ON = 1
"""Steps behind a complaint that say that it ended nothing."""
_ENDS = ("job.completed", "torchrun.succeeded", "bench.average", "run.passed", "nccl.destroyed")
_WORK = ("job.progress", "bench.row", "job.serving")


def clues(label: str, timeline: Timeline) -> Iterator[Clue]:
    """The reasons for a cause that unknown lines give: the first about it that nothing went on behind."""
    told = list(_that_count(timeline))
    if label in ("none", "other"):
        if told and not timeline.failed:
            yield Clue(-0.6 if label == "none" else 0.36, "a line reports a failure that triage does not know", told[0])
        return
    if about := [one for one in told if one.get("about") == label]:
        loud = next((one for one in about if one.get("grade") == "loud"), None)
        strength = _LOUD if loud else _SOFT
        yield Clue(strength, "a line that triage does not know complains about this", loud or about[0])


def _that_count(timeline: Timeline) -> Iterator[LogEvent]:
    """The loud ones; the others where the job failed, or where nothing shows that it works."""
    works = timeline.has(*_ENDS, *_WORK)
    for one in _open(timeline):
        if one.get("grade") == "loud" or timeline.failed or (one.get("grade") == "plain" and not works):
            yield one


def _open(timeline: Timeline) -> list[LogEvent]:
    """The complaints behind which the job neither ended in order nor went on."""
    told = timeline.of("log.complaint")
    if not told or timeline.recovered:
        return []
    after = [event for event in timeline.of(*_ENDS)]
    steps = timeline.of(*_WORK)

    def went_on(one: LogEvent) -> bool:
        ended = any(timeline.before(one, end) for end in after)
        return ended or sum(timeline.before(one, step) for step in steps) >= _GOES_ON

    return [one for one in told if not went_on(one)]
