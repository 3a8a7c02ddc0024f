"""JUDGE a story with all causes: root cause, confidence, offender, the lines that prove it, the runner-up.

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
from nccltool.triage.causes.base import ECHOES, Clue, Offender
from nccltool.triage.logs.base import Event
from nccltool.triage.timeline import Story

STRONG = 0.55
"""A score above FITS: more than "looks like it"."""
EXPLAINED = 0.7
LATER = 0.12
LEAST = 0.3
"""A candidate below this is not worth a line, and a failure whose best cause is below it is `other`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A root cause and how much speaks for it."""

    root_cause: str
    confidence: float
    why: tuple[str, ...]
    clues: tuple[Clue, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What happened."""

    root_cause: str
    confidence: float
    offender: Offender | None
    first_failure: Event | None
    candidates: tuple[Candidate, ...]
    evidence: tuple[Event, ...]
    decides: str
    """What would settle it between the root cause and the runner-up."""
    lines_read: int


def judge(story: Story) -> Judged:
    """The root cause of a story."""
    weighed = _explained(story, [_weigh(label, story) for label in causes.LABELS])
    ranked = sorted((made for made in weighed if made.confidence > 0), key=lambda made: -made.confidence)
    if story.lines_read == 0:
        return _nothing(story)
    best = ranked[0] if ranked else Candidate(root_cause="none", confidence=LEAST, why=("nothing is known",))
    runner_up = next((made for made in ranked[1:] if made.confidence >= LEAST), None)
    cause = causes.find(best.root_cause)
    assert cause is not None
    confidence = best.confidence * (1 - (runner_up.confidence if runner_up else 0.0) / 2)
    return Judged(
        root_cause=best.root_cause,
        confidence=round(confidence, 2),
        offender=cause.offender(story, best.clues),
        first_failure=_first_failure(story, best),
        candidates=tuple(replace(made, confidence=round(made.confidence, 2)) for made in ranked[:5]),
        evidence=_evidence(best),
        decides=_decides(best, runner_up),
        lines_read=story.lines_read,
    )


def _nothing(story: Story) -> Judged:
    return Judged(
        root_cause="none",
        confidence=0.0,
        offender=None,
        first_failure=None,
        candidates=(),
        evidence=(),
        decides="a log that has lines",
        lines_read=story.lines_read,
    )


def _weigh(label: str, story: Story) -> Candidate:
    cause = causes.find(label)
    assert cause is not None
    clues = tuple(cause.clues(story))
    against, doubt = 1.0, 1.0
    for strength in _strengths(clues):
        if strength >= 0:
            doubt *= 1 - strength
        else:
            against *= 1 + strength
    why = tuple(dict.fromkeys(clue.why for clue in sorted(clues, key=lambda clue: -clue.strength)))
    return Candidate(root_cause=label, confidence=(1 - doubt) * against, why=why, clues=clues)


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


def _explained(story: Story, weighed: Sequence[Candidate]) -> list[Candidate]:
    """Echoes of stronger causes, and later ones, lose."""
    return [_after(story, one, [other for other in weighed if other is not one]) for one in weighed]


def _after(story: Story, one: Candidate, others: Sequence[Candidate]) -> Candidate:
    left = one.confidence
    explains = [other for other in others if other.confidence >= STRONG and one.root_cause in _explains(other)]
    mutual = _explains(one)
    explains = [other for other in explains if other.root_cause not in mutual or other.confidence > one.confidence]
    if explains:
        left *= 1 - EXPLAINED
    elif one.confidence >= STRONG and _is_later(story, one, others):
        left *= 1 - LATER
    return replace(one, confidence=left)


def _explains(made: Candidate) -> frozenset[str]:
    cause = causes.find(made.root_cause)
    own: frozenset[str] = getattr(cause, "EXPLAINS", ECHOES)
    shared = (
        ECHOES if made.root_cause not in ECHOES and made.root_cause not in ("none", "slow-path") else frozenset()
    )
    return own | shared


def _is_later(story: Story, one: Candidate, others: Sequence[Candidate]) -> bool:
    own = _earliest(story, one.clues)
    for other in others:
        first = _earliest(story, other.clues)
        if other.confidence >= STRONG and own and first and story.before(first, own):
            return True
    return False


def _earliest(story: Story, clues: Sequence[Clue]) -> Event | None:
    events = [clue.event for clue in clues if clue.event and clue.strength >= 0.5]
    return story.earliest(events)


def _first_failure(story: Story, best: Candidate) -> Event | None:
    """The first line that shows this cause; where it has none, the first failure at all."""
    if best.root_cause == "none":
        return None
    own = [clue.event for clue in best.clues if clue.event and clue.strength >= 0.4]
    said = [event for event in own if event.role in ("failure", "echo")]
    if said or own:
        return story.earliest(said or own)
    return next(iter((*story.failures(), *story.echoes())), None)


def _evidence(best: Candidate) -> tuple[Event, ...]:
    ordered = sorted(
        (clue for clue in best.clues if clue.event and clue.strength > 0), key=lambda clue: -clue.strength
    )
    return tuple(_unique(ordered))[:6]


def _unique(clues: Sequence[Clue]) -> Iterator[Event]:
    seen: set[tuple[str, int]] = set()
    for clue in clues:
        if clue.event and (clue.event.file, clue.event.line) not in seen:
            seen.add((clue.event.file, clue.event.line))
            yield clue.event


def _decides(best: Candidate, runner_up: Candidate | None) -> str:
    cause = causes.find(best.root_cause)
    assert cause is not None
    if runner_up is None:
        return f"{best.root_cause}: {cause.DECIDES}"
    other = causes.find(runner_up.root_cause)
    assert other is not None
    return f"{best.root_cause}: {cause.DECIDES}; {runner_up.root_cause}: {other.DECIDES}"
