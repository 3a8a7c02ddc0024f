"""What somebody expected of a job's speed, and how far what the log measures falls short of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline
from nccltool.triage.timeline.trials import SLOWER

_NUMBER = r"(?P<wanted>\d+(?:\.\d+)?)"
_UNIT = r"(?P<unit>GB/s|s/(?:step|it)\b|s per (?:step|iteration)\b)"
_NOTED = re.compile(
    r"(?i)\b(?:expect\w*|target|baseline|reference|should (?:be|reach|get)|wanted|acceptance|normal(?:ly)?|"
    r"yesterday|last (?:week|month|year|time)|was|used to|before|earlier|with the|old|"
    r"other (?:nodes?|pairs?|hosts?|node pairs))\b"
)
_WITH_UNIT = re.compile(rf"{_NUMBER} ?{_UNIT}")
_BARE = re.compile(rf"(?<![\w.:=/-]){_NUMBER}(?![\w.:/%-])")


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Less than was expected."""

    event: LogEvent
    wanted: float
    measured: float
    unit: str


def missed(timeline: Timeline) -> Shortfall | None:
    """The first expectation that the log's own measurements fall short of by more than noise."""
    for event, wanted, unit in _expected(timeline):
        measured = _measured(timeline, event, unit)
        if measured is None or not wanted:
            continue
        is_rate = unit == "GB/s"
        if (wanted / measured if is_rate else measured / wanted) > SLOWER:
            return Shortfall(event, wanted, measured, unit)
    return None


def _expected(timeline: Timeline) -> Iterator[tuple[LogEvent, float, str]]:
    for event in timeline.of("job.wanted"):
        yield event, float(event.get("wanted")), _named(event.get("unit"))
    for event in timeline.of("shell.note"):
        note = event.get("note")
        if not _NOTED.search(note):
            continue
        if told := _WITH_UNIT.search(note):
            yield event, float(told["wanted"]), _named(told["unit"])
        elif timeline.has("bench.average") and (told := _BARE.search(note)):
            yield event, float(told["wanted"]), "GB/s"  # the unit of what stands above


def _named(unit: str) -> str:
    return unit if unit in ("GB/s", "ms") else "s/step"


def _measured(timeline: Timeline, event: LogEvent, unit: str) -> float | None:
    """What the log shows of the same, better than zero."""
    if unit == "GB/s":
        rates = [float(one.get("busbw")) for one in timeline.of("bench.average", "bench.row", "job.bandwidth")]
        return max(rates, default=0.0) or None
    if unit == "ms":
        own = timeline.first("bench.serving", where=lambda e: e.get("name") == event.get("name"))
        return float(own.get("ms")) if own else None
    return timeline.step_seconds
