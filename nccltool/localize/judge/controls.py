"""Control tests: what an accusation rests on are slow encounters with partners that are fast with others."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.judge.fit import Fit
from nccltool.localize.judge.states import BOTH, CENTERS, DEAD, FIRST_BAD, RECEIVE, SEND
from nccltool.localize.result import Direction

SURE = 0.9
"""From here on a part is accused, if control tests agree."""
CLEARED = 0.1
"""Up to here a node is good enough for a control test."""
FEWEST = 2
"""Control tests that an accusation needs."""
_HALF = 0.5
_OFTEN_FAST = 6
_CLEAR_SHARE = 0.8
_MOST_CONFIDENCE = 0.999


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """A slow encounter of a suspect."""

    encounter: Encounter
    ratio: float | None
    """Of the healthy bandwidth; None: there was no number."""


def slow(fit: Fit, part: int) -> Iterator[int]:
    """Encounters of a part that were nearer to its fault than to health."""
    bar = _HALF * -loss(fit, part)
    is_dead = level(fit, part) == DEAD
    for number in fit.encounters_of(part):
        if not fit.observed.has_number[number] if is_dead else fit.ratios[number] < bar:
            yield int(number)


def level(fit: Fit, part: int) -> int:
    """The likeliest level of its fault."""
    return FIRST_BAD + int(np.argmax(fit.beliefs.states[part, :, :, FIRST_BAD - 1 :].sum(axis=(0, 1))))


def loss(fit: Fit, part: int) -> float:
    """Of its fault, as a log ratio."""
    return float(CENTERS[level(fit, part)])


def with_cleared(fit: Fit, part: int, own: set[str]) -> tuple[Control, ...]:
    """Slow encounters in which all but the suspect's own nodes have been fast with others."""
    found = []
    for number in slow(fit, part):
        others = [node for node in fit.nodes_of[number] if fit.observed.nodes[node] not in own]
        if all(is_cleared(fit, node, own) for node in others):
            found.append(_control(fit, number))
    return tuple(found)


def is_cleared(fit: Fit, node: int, without: set[str]) -> bool:
    """Whether a node is probably healthy, and was fast in an encounter without those."""
    return bool(fit.bad[node] <= CLEARED) and times_fast(fit, node, without - {fit.observed.nodes[node]}) > 0


def times_fast(fit: Fit, node: int, without: set[str]) -> int:
    """In how many encounters with none of those a node was fast."""
    without = without - {fit.observed.nodes[node]}
    return sum(
        bool(not fit.is_slow[number] and fit.observed.has_number[number])
        and not without & {*fit.observed.encounters[number].members}
        for number in fit.encounters_of(node)
    )


def enough(fit: Fit) -> int:
    """How often a node must be fast with others before what it was slow with is blamed: faults come and go."""
    return max(min(_OFTEN_FAST, len(fit.observed.nodes) - 2), FEWEST)


def _control(fit: Fit, number: int) -> Control:
    ratio = float(fit.ratios[number])
    return Control(
        encounter=fit.observed.encounters[number], ratio=math.exp(ratio) if math.isfinite(ratio) else None
    )


def ratio(controls: tuple[Control, ...]) -> float | None:
    """The typical speed in these encounters."""
    known = [each.ratio for each in controls if each.ratio is not None]
    return float(np.median(known)) if known else None


def confidence(fit: Fit, part: int) -> float:
    """Never certainty: the model itself may be wrong."""
    return min(float(fit.bad[part]), _MOST_CONFIDENCE)


def direction(fit: Fit, part: int) -> Direction:
    """The direction of its fault."""
    if fit.beliefs.states.shape[1] == 1:
        return "both"
    ways = fit.beliefs.states[part, :, :, FIRST_BAD - 1 :].sum(axis=(1, 2))
    clear = _CLEAR_SHARE * float(ways.sum())
    if ways[SEND] > clear:
        return "send"
    return "receive" if ways[RECEIVE] > clear and ways[BOTH] < clear else "both"


def of_counters(counters: tuple[CounterEvidence, ...], node: str, rail: str | None = None) -> tuple[str, ...]:
    """What was counted there, as evidence."""
    return tuple(
        f"{each.kind.replace('-', ' ')}: {each.value:g}{f' ({each.detail})' if each.detail else ''}"
        for each in sorted(counters, key=lambda each: (each.kind, each.detail, each.value))
        if each.node == node and (rail is None or each.rail == rail)
    )


def speeds(controls: tuple[Control, ...]) -> str:
    """How slow, in words."""
    typical = ratio(controls)
    return "no result" if typical is None else f"{100 * typical:.0f} % of the healthy bandwidth"
