"""JUDGE a timeline with all causes: root cause, confidence, offender, the lines that prove it, the runner-up.

How it is weighed, so that anybody can follow it:

1. Each cause gives clues, with a strength (causes/base.py). Clues for a cause are combined as independent reasons:
   1 - (1 - a)(1 - b)...; clues from one line are one reason. Each clue against it takes its share away: x (1 - c).
2. A cause accounts for others: what dies, waits or times out because of it is an echo (EXPLAINS). The score of the
   stronger one, if it is at least STRONG, takes EXPLAINED of the explained one away.
3. Of two causes that are both strong, the one whose first line is later loses LATER.
4. The highest score wins. The confidence is that score, less half of what the runner-up has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nccltool.triage import causes
from nccltool.triage.causes.base import ECHOES, Clue, Clues, Offender
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

STRONG = 0.55
"""A score above FITS: more than "looks like it"."""
EXPLAINED = 0.7
LATER = 0.12
LEAST = 0.3
"""A candidate below this is not worth a line, and a failure whose best cause is below it is `other`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeighedCause:
    """A root cause and how much speaks for it."""

    root_cause: str
    confidence: float
    why: tuple[str, ...]
    clues: Clues


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedCauses:
    """What happened."""

    root_cause: str
    confidence: float
    offender: Offender | None
    first_failure: LogEvent | None
    candidates: tuple[WeighedCause, ...]
    evidence: tuple[LogEvent, ...]
    decides: str
    """What would settle it between the root cause and the runner-up."""
    lines_read: int


def judge(timeline: Timeline) -> RankedCauses:
    """The root cause of a timeline."""
    weighed = _explained(timeline, [_weigh(label, timeline) for label in causes.LABELS])
    ranked = sorted((made for made in weighed if made.confidence > 0), key=lambda made: -made.confidence)
    if timeline.lines_read == 0:
        return _nothing(timeline)
    best = (
        ranked[0]
        if ranked
        else WeighedCause(root_cause="none", confidence=LEAST, why=("nothing is known",), clues=Clues())
    )
    runner_up = next((made for made in ranked[1:] if made.confidence >= LEAST), None)
    cause = causes.find(best.root_cause)
    assert cause is not None
    confidence = best.confidence * (1 - (runner_up.confidence if runner_up else 0.0) / 2)
    return RankedCauses(
        root_cause=best.root_cause,
        confidence=round(confidence, 2),
        offender=cause.offender(timeline, best.clues),
        first_failure=_first_failure(timeline, best),
        candidates=tuple(replace(made, confidence=round(made.confidence, 2)) for made in ranked[:5]),
        evidence=_evidence(best),
        decides=_decides(best, runner_up),
        lines_read=timeline.lines_read,
    )


def _nothing(timeline: Timeline) -> RankedCauses:
    return RankedCauses(
        root_cause="none",
        confidence=0.0,
        offender=None,
        first_failure=None,
        candidates=(),
        evidence=(),
        decides="a log that has lines",
        lines_read=timeline.lines_read,
    )


def _weigh(label: str, timeline: Timeline) -> WeighedCause:
    cause = causes.find(label)
    assert cause is not None
    clues = Clues(cause.clues(timeline))
    against, doubt = 1.0, 1.0
    for strength in _strengths(clues):
        if strength >= 0:
            doubt *= 1 - strength
        else:
            against *= 1 + strength
    why = tuple(dict.fromkeys(clue.why for clue in sorted(clues, key=lambda clue: -clue.strength)))
    return WeighedCause(root_cause=label, confidence=(1 - doubt) * against, why=why, clues=clues)


def _strengths(clues: Sequence[Clue]) -> Iterator[float]:
    """One line of a log is one reason, however many clues are read out of it."""
    strongest: dict[tuple[str, int], float] = {}
    for clue in clues:
        if clue.event is None or clue.strength < 0:
            yield clue.strength
        else:
            place = (clue.event.file, clue.event.line)
            strongest[place] = max(strongest.get(place, 0.0), clue.strength)
    yield from strongest.values()


def _explained(timeline: Timeline, weighed: Sequence[WeighedCause]) -> list[WeighedCause]:
    """Echoes of stronger causes, and later ones, lose."""
    return [_after(timeline, one, [other for other in weighed if other is not one]) for one in weighed]


def _after(timeline: Timeline, one: WeighedCause, others: Sequence[WeighedCause]) -> WeighedCause:
    left = one.confidence
    explains = [other for other in others if other.confidence >= STRONG and one.root_cause in _explains(other)]
    mutual = _explains(one)
    explains = [other for other in explains if other.root_cause not in mutual or other.confidence > one.confidence]
    if explains:
        left *= 1 - EXPLAINED
    elif one.confidence >= STRONG and _is_later(timeline, one, others):
        left *= 1 - LATER
    return replace(one, confidence=left)


def _explains(made: WeighedCause) -> frozenset[str]:
    cause = causes.find(made.root_cause)
    own: frozenset[str] = getattr(cause, "EXPLAINS", ECHOES)
    shared = (
        ECHOES if made.root_cause not in ECHOES and made.root_cause not in ("none", "slow-path") else frozenset()
    )
    return own | shared


def _is_later(timeline: Timeline, one: WeighedCause, others: Sequence[WeighedCause]) -> bool:
    own = _earliest(timeline, one.clues)
    for other in others:
        first = _earliest(timeline, other.clues)
        if other.confidence >= STRONG and own and first and timeline.before(first, own):
            return True
    return False


def _earliest(timeline: Timeline, clues: Sequence[Clue]) -> LogEvent | None:
    events = [clue.event for clue in clues if clue.event and clue.strength >= 0.5]
    return timeline.earliest(events)


def _first_failure(timeline: Timeline, best: WeighedCause) -> LogEvent | None:
    """The first line that shows this cause; where it has none, the first failure at all."""
    if best.root_cause == "none":
        return None
    own = [clue.event for clue in best.clues if clue.event and clue.strength >= 0.4]
    said = [event for event in own if event.role in ("failure", "echo")]
    if said or own:
        return timeline.earliest(said or own)
    return next(iter(timeline.troubles()), None)


def _evidence(best: WeighedCause) -> tuple[LogEvent, ...]:
    ordered = sorted(
        (clue for clue in best.clues if clue.event and clue.strength > 0), key=lambda clue: -clue.strength
    )
    return tuple(_unique(ordered))[:6]


def _unique(clues: Sequence[Clue]) -> Iterator[LogEvent]:
    seen: set[tuple[str, int]] = set()
    for clue in clues:
        if clue.event and (clue.event.file, clue.event.line) not in seen:
            seen.add((clue.event.file, clue.event.line))
            yield clue.event


def _decides(best: WeighedCause, runner_up: WeighedCause | None) -> str:
    cause = causes.find(best.root_cause)
    assert cause is not None
    if runner_up is None:
        return f"{best.root_cause}: {cause.DECIDES}"
    other = causes.find(runner_up.root_cause)
    assert other is not None
    return f"{best.root_cause}: {cause.DECIDES}; {runner_up.root_cause}: {other.DECIDES}"
