"""JUDGE a timeline with all causes: root cause, confidence, suspect, the lines that prove it, the runner-up.

How it is weighed, so that anybody can follow it:

1. Each cause gives clues, with a strength (causes/base.py). Clues for a cause are combined as independent reasons:
   1 - (1 - a)(1 - b)...; clues from one line are one reason. Each clue against it takes its share away: x (1 - c).
2. A cause accounts for others: what dies, waits or times out because of it is an echo (EXPLAINS). The score of the
   stronger one, if it is at least STRONG, takes EXPLAINED of the explained one away.
3. Of two causes that are both strong, the one whose first line is later loses LATER.
4. The highest score wins. Its confidence is that score, less half of what the runner-up has, told as how often
   answers of such a score are right (_RIGHT): the shares that `scripts/bench failures` measured on its third and
   fourth round before they were used to improve the causes.
5. Where that is not enough to settle it, the words of the logs have a say (wording/second_opinion.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nccltool.triage import causes, complaints, contrasts, own_run, suspects
from nccltool.triage.causes.base import ECHOES, HINT, Cause, Clue, Clues, all_clues, whoever
from nccltool.triage.defects import catalog
from nccltool.triage.incident import Candidate, LogLine, Offender, RankedCauses
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline
from nccltool.triage.wording import likeness, second_opinion

STRONG = 0.55
"""A score above FITS: more than "looks like it"."""
EXPLAINED = 0.7
LATER = 0.12
_OF_PROCESSES = frozenset({"app-error", "gpu-fault", "out-of-memory", "shm-size", "fd-limit"})
"""Causes that one process meets first."""
_RIGHT = ((0.0, 0.0), (0.35, 0.33), (0.5, 0.5), (0.7, 0.58), (0.8, 0.7), (0.85, 0.84), (0.9, 0.9), (1.0, 1.0))
"""Score less what the runner-up leaves of it -> share of such answers that were right; between two, on a line."""
_AMONG_OTHERS = 0.47
"""Of 463 cases, judged before anybody had learned from them (rounds 9 to 14), 95 answers were wrong. Beside 38 of
these stood other candidates, and in this share of them one of these was right."""
_UNSEEN_FAILURE = 0.08
"""The share of healthy answers that were wrong there: 11 of 146."""
_RIVALS = 4
"""Candidates beside the answer that are told."""
LEAST = 0.3
"""A candidate below this is not worth a line, and a failure whose best cause is below it is `other`."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A root cause and how much speaks for it."""

    label: str
    score: float
    clues: Clues

    @property
    def cause(self) -> Cause:
        return causes.find(self.label)

    @property
    def explains(self) -> frozenset[str]:
        own: frozenset[str] = getattr(self.cause, "EXPLAINS", ECHOES)
        return own if self.label in (*ECHOES, "none", "slow-path") else own | ECHOES

    def earliest(self, timeline: Timeline) -> LogEvent | None:
        return timeline.earliest(clue.event for clue in self.clues if clue.event and clue.strength >= 0.5)


def judge(timeline: Timeline) -> RankedCauses:
    """The root cause of a timeline."""
    if timeline.lines_read == 0:
        return RankedCauses()
    known = catalog.shown(timeline)
    weighed = [_weigh(label, timeline, known) for label in causes.LABELS]
    scored = [replace(one, score=_share_left(timeline, one, weighed) * one.score) for one in weighed]
    ranked = sorted((one for one in scored if one.score > 0), key=lambda one: -one.score)
    left = 1 - max((one.score for one in ranked[1:2] if one.score >= LEAST), default=0.0) / 2
    sure = _told(ranked[0].score * left)
    by_words = _with_words(timeline, ranked, sure)
    best, confidence = by_words or (ranked[0], sure)
    others = [one for one in ranked if one.label != best.label]
    decisive = [best, *(one for one in others[:1] if one.score >= LEAST)]
    first, offender = _first_failure(timeline, best), _offender(timeline, best, known)
    rivals = tuple(_candidate(one, min(confidence, _told(one.score * left))) for one in _rivals(others))
    return RankedCauses(
        root_cause=best.label,
        confidence=confidence,
        settled_by="words" if by_words else "lines",
        unknown=_unknown(best, confidence, rivals),
        offender=offender,
        suspects=suspects.alike(best.label, timeline, best.clues, offender),
        first_failure=_line(timeline, first) if first else None,
        candidates=(_best(timeline, best, confidence), *rivals),
        evidence=tuple(_line(timeline, event) for event in _one_a_line(best.clues.proofs())[:6]),
        decides="; ".join(f"{one.label}: {one.cause.DECIDES}" for one in decisive),
    )


def _with_words(timeline: Timeline, ranked: Sequence[_Weighed], sure: float) -> tuple[_Weighed, float] | None:
    """Another cause than the first, with its confidence, where words speak for it and no line settles it."""
    first, *others = ranked
    if timeline.has(own_run.KIND) or not second_opinion.is_open(first.label, sure):
        return None  # a run has seen what happened, or the lines tell it
    words, rivals = timeline.words, [one.label for one in _rivals(others)]
    may_be_well = not complaints.ends_in_trouble(timeline)
    said = second_opinion.opinion(first.label, sure, rivals, words, may_be_well=may_be_well)
    if said is None:
        return None
    telling = ", ".join(likeness.telling(words, said.cause))
    own = next((one.clues for one in others if one.label == said.cause != "none"), Clues())
    clue = Clue(HINT, f"known cases of this kind have these words: {telling}")
    return _Weighed(said.cause, 0.0, Clues((*own, clue))), said.confidence


def _rivals(others: Sequence[_Weighed]) -> list[_Weighed]:
    """Of the causes behind the answer, those that are told."""
    return [one for one in others[: _RIVALS + 1] if one.label != "other"][:_RIVALS]


def _offender(timeline: Timeline, best: _Weighed, known: Sequence[catalog.Shown]) -> Offender | None:
    """Of what a run saw, whom it named; of echoes, nobody whom it did not name."""
    seen = any(clue.event and clue.event.kind == own_run.KIND for clue in best.clues)
    if seen or (best.label in ECHOES and own_run.has_named(timeline)):
        return own_run.offender(timeline, best.clues)
    found = contrasts.offender(best.label, timeline) or catalog.offender(best.label, known)
    found = found or best.cause.offender(timeline, best.clues) or suspects.victim(best.label, best.clues)
    found = found or (whoever(timeline, best.clues) if best.label in _OF_PROCESSES else None)
    found = found or suspects.named(best.label, timeline, best.clues)
    if best.label != "none" and best.label not in ECHOES:  # an echo names those who waited
        found = found or suspects.mentioned(best.label, timeline, best.clues)
    told = {str(event.rank) for event in best.clues.proofs()}
    if found and found.kind in ("rank", "process") and found.name not in told and own_run.has_named(timeline):
        return own_run.offender(timeline, best.clues)  # logs of its agents number the ranks of one node
    return found


def _one_a_line(events: Sequence[LogEvent]) -> tuple[LogEvent, ...]:
    first: dict[tuple[str, int], LogEvent] = {}
    for event in events:
        first.setdefault((event.file, event.line), event)
    return tuple(first.values())


def _line(timeline: Timeline, event: LogEvent) -> LogLine:
    return LogLine(
        file=event.file,
        line=event.line,
        rank=timeline.rank_of(event),
        host=event.host,
        time=event.time,
        text=event.text,
    )


def _best(timeline: Timeline, best: _Weighed, confidence: float) -> Candidate:
    """With what a run found that its clues do not say, behind the strongest of them."""
    known = _candidate(best, confidence)
    told = (*known.why[:1], *own_run.others_told(timeline, best.clues), *_of_earlier(timeline), *known.why[1:])
    return replace(known, why=told)


def _of_earlier(timeline: Timeline) -> Iterator[str]:
    """What an earlier run in the same log ended with."""
    if event := timeline.earlier:
        yield f"an earlier run in this log failed at line {event.line}: {event.text.strip()[:100]}"


def _candidate(one: _Weighed, confidence: float) -> Candidate:
    why = dict.fromkeys(clue.why for clue in sorted(one.clues, key=lambda clue: -clue.strength))
    return Candidate(root_cause=one.label, confidence=confidence, why=tuple(why))


def _told(score: float) -> float:
    """The confidence of an answer of this score."""
    for (least, low), (most, high) in pairwise(_RIGHT):
        if score <= most:
            return round(low + (high - low) * (score - least) / (most - least), 2)
    return _RIGHT[-1][1]


def _unknown(best: _Weighed, confidence: float, rivals: Sequence[Candidate]) -> float:
    """How probable it is that the cause is none of the candidates."""
    if best.label == "none" and best.score:
        return _UNSEEN_FAILURE
    left = 1.0 if best.label == "other" else 1 - confidence
    named = any(one.root_cause != "none" for one in rivals)
    return round(left * (1 - _AMONG_OTHERS if named else 1), 2)


def _weigh(label: str, timeline: Timeline, known: Sequence[catalog.Shown]) -> _Weighed:
    clues = Clues(
        (
            *all_clues(causes.find(label), timeline),
            *own_run.clues(label, timeline),
            *contrasts.clues(label, timeline),
            *complaints.clues(label, timeline),
            *catalog.clues(label, known),
        )
    )
    against, doubt = 1.0, 1.0
    for strength in _strengths(clues):
        if strength >= 0:
            doubt *= 1 - strength
        else:
            against *= 1 + strength
    return _Weighed(label, (1 - doubt) * against, clues)


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


def _share_left(timeline: Timeline, one: _Weighed, weighed: Sequence[_Weighed]) -> float:
    """Echoes of stronger causes, and later ones, lose."""
    strong = [other for other in weighed if other is not one and other.score >= STRONG]
    for other in strong:
        explained = one.label in other.explains and (other.label not in one.explains or other.score > one.score)
        if explained and not _comes_after(timeline, other, one):
            return 1 - EXPLAINED
    own = one.earliest(timeline)
    firsts = [other.earliest(timeline) for other in strong] if own and one.score >= STRONG else []
    return 1 - LATER if any(own and first and timeline.before(first, own) for first in firsts) else 1.0


def _comes_after(timeline: Timeline, other: _Weighed, one: _Weighed) -> bool:
    """An exception that came behind the strong signs of another cause does not explain them."""
    if other.label != "app-error" or one.score < STRONG:
        return False
    first, own = other.earliest(timeline), one.earliest(timeline)
    return bool(first and own and timeline.before(own, first))


def _first_failure(timeline: Timeline, best: _Weighed) -> LogEvent | None:
    """The first line that shows this cause; where it has none, the first failure at all."""
    if best.label == "none" and best.score:
        return None
    own = [clue.event for clue in best.clues if clue.event and clue.strength >= 0.4]
    said = [event for event in own if event.role in ("failure", "echo")]
    return timeline.earliest(said or own or timeline.troubles()[:1])
