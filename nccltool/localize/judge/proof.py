"""Whether noise alone could be what accuses a part: its measurements against those that nobody accused was in.

The fit learns noise above the healthy level, where no fault can be. Contention and other traffic make only slower,
so here the noise is learnt from the measurements of others, slow ones too, with Student's t for how few they are.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc, stdtr

from nccltool.localize.judge import controls
from nccltool.localize.judge.fit import Fit
from nccltool.localize.judge.likelihood import GLITCH
from nccltool.localize.judge.states import Flags, Floats, Ints

_MOST_CHANCE_OF_MEAN = 5e-6
"""Of one false accusation in a run. The goal is 2e-3, a run is judged after each of several rounds, and the others
are no fair sample: whoever was unlucky is accused, not among them. Simulated: 64 healthy nodes, 10 % one-sided."""
_MOST_CHANCE_OF_GAP, _WITH_FEW_OTHERS = 2e-2, 2e-4
"""Far below all noise is proof, if there are enough others to know what noise does."""
_ENOUGH_OTHERS = 100
_USUAL_NOISE, _USUAL_COUNT = 0.02, 3.0
"""What noise is before it is measured, and for how many measurements that counts, as for the levels."""
_MOST_CHANCE_OF_SILENCE, _USUAL_RESULTS = 2e-3, 20.0
"""The same of results that are missing, and for how many results it counts that one in so many is missing."""
_USUAL_RESULTS_OF_GLITCH = 500.0
"""For how many measurements the usual share of glitches counts."""
_FAR = 6.0
"""Noises below the others that leave no doubt, if there are enough of both to tell."""
_FEWEST_SLOW, _FEWEST_OTHERS = 2, 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Others:
    """The measurements that tell what noise does."""

    ratios: Floats
    """Logarithms, as shares of the healthy bandwidth."""
    is_expected: bool
    """Somebody named the healthy bandwidth."""
    of_class: Ints
    """How many there are of each class of encounters."""
    missing: float
    """How often there was no result."""

    def middle(self, most: float) -> float:
        """Typical ratio, with losses of at most so much. An expected bandwidth that all are a bit below has noise
        that only slows, if enough tell."""
        if len(self.ratios) < (_FEWEST_OTHERS if self.is_expected else 1):
            return 0.0
        typical = float(np.maximum(self.ratios, float(np.median(self.ratios)) - most).mean())
        return min(typical, 0.0) if self.is_expected else typical

    def squares(self, most: float) -> float:
        """Sum of squared distances from there."""
        return float((np.maximum(self.ratios - self.middle(most), -most) ** 2).sum())


def others(fit: Fit, accused: Collection[int], *, with_doubts: bool) -> Others:
    """Without anyone accused, and without doubts: without what was slow with a node that was never cleared."""
    is_free = ~_touched(fit, accused)
    is_told = fit.observed.has_number & is_free
    silent = int((is_free & ~fit.observed.has_number).sum())
    if not with_doubts:
        slow = np.flatnonzero(is_told & fit.is_slow)
        cleared = {node: controls.is_cleared(fit, node, set()) for each in slow for node in fit.nodes_of[each]}
        is_told[[each for each in slow if not all(cleared[node] for node in fit.nodes_of[each])]] = False
    return Others(
        ratios=fit.ratios[is_told],
        is_expected=fit.levels.is_expected,
        of_class=np.bincount(fit.observed.class_of[is_told], minlength=fit.observed.classes),
        missing=(silent + 1) / (int(is_free.sum()) + _USUAL_RESULTS),
    )


def is_proven(fit: Fit, part: int, accused: Collection[int], rest: Others) -> bool:
    """Whether noise hardly makes a healthy part of that kind, the likeliest of all, as slow as this one."""
    own = fit.encounters_of(part)
    own = own[fit.observed.has_number[own] & ~_touched(fit, [each for each in accused if each != part])[own]]
    if not rest.is_expected:
        own = own[rest.of_class[fit.observed.class_of[own]] > 0]
    if not len(own):
        return False
    ratios, alike = np.sort(fit.ratios[own]), _alike(fit, part)
    of_gap = _MOST_CHANCE_OF_GAP if len(rest.ratios) >= _ENOUGH_OTHERS else _WITH_FEW_OTHERS
    level = _of_level(fit, own, rest)
    return alike * _of_mean(ratios, rest, level) < _MOST_CHANCE_OF_MEAN or alike * _of_gap(ratios, rest) < of_gap


def is_silent(fit: Fit, part: int, accused: Collection[int], rest: Others) -> bool:
    """Whether a healthy part of that kind, the likeliest of all, hardly gives no result so often.

    A node of which nothing came at all needs no such proof: it may be down.
    """
    own = fit.encounters_of(part)
    own = own[~_touched(fit, [each for each in accused if each != part])[own]]
    silent = int((~fit.observed.has_number[own]).sum())
    if silent == len(fit.encounters_of(part)) and fit.parts.keys[part][0] == "node":
        return True
    return (
        bool(silent)
        and _alike(fit, part) * float(bdtrc(silent - 1, len(own), rest.missing)) < _MOST_CHANCE_OF_SILENCE
    )


def _alike(fit: Fit, part: int) -> int:
    """How many parts of its kind there are; links and groups that were always fast count too."""
    kind = fit.parts.keys[part][0]
    return int(fit.observed.same.max()) + 1 if kind in ("link", "group") else len(fit.parts.number(kind))


def _of_level(fit: Fit, own: Ints, rest: Others) -> float:
    """Variance of what is healthy where these were measured, in variances of one measurement: of few others nobody
    knows well what is healthy."""
    if rest.is_expected:
        return 1 / len(rest.ratios) if len(rest.ratios) >= _FEWEST_OTHERS else 0.0
    classes, counts = np.unique(fit.observed.class_of[own], return_counts=True)
    return float(((counts / len(own)) ** 2 / rest.of_class[classes]).sum())


def _of_mean(ratios: Floats, rest: Others, level: float) -> float:
    """Student's test of two means. The slowest does not count: one can be slow for any reason."""
    kept = ratios[1:] if len(ratios) > 1 else ratios
    most = -float(kept.mean())
    squares = rest.squares(most) + float(((ratios - ratios.mean()) ** 2).sum())
    freedom = len(rest.ratios) + len(ratios) - 1 + _USUAL_COUNT
    noise = math.sqrt((squares + _USUAL_COUNT * _USUAL_NOISE**2) / freedom)
    error = noise * math.sqrt(1 / len(kept) + level)
    return float(stdtr(freedom, -(most + rest.middle(most)) / error))


def _of_gap(ratios: Floats, rest: Others) -> float:
    """That so many are far below all noise, where a fault comes and goes: each for a reason that does not last."""
    most = -float(ratios.mean())
    freedom = len(rest.ratios) + _USUAL_COUNT
    noise = math.sqrt((rest.squares(most) + _USUAL_COUNT * _USUAL_NOISE**2) / freedom)
    bar = rest.middle(most) - _FAR * noise
    slow, others_slow = int((ratios < bar).sum()), int((rest.ratios < bar).sum())
    if slow < _FEWEST_SLOW or len(rest.ratios) < _FEWEST_OTHERS:
        return 1.0
    often = max(
        (GLITCH * _USUAL_RESULTS_OF_GLITCH + others_slow) / (_USUAL_RESULTS_OF_GLITCH + len(rest.ratios)), GLITCH
    )
    return float(bdtrc(slow - 1, len(ratios), often + stdtr(freedom, -_FAR)))


def _touched(fit: Fit, parts: Collection[int]) -> Flags:
    found: Flags = np.zeros(len(fit.ratios), dtype=bool)
    for part in parts:
        found[fit.encounters_of(part)] = True
    return found
