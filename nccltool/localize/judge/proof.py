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
from nccltool.localize.judge.states import Flags, Floats

_MOST_CHANCE_OF_MEAN = 5e-6
"""Of one false accusation in a run. The goal is 2e-3, a run is judged after each of several rounds, and the others
are no fair sample: whoever was unlucky is accused, not among them. Simulated: 64 healthy nodes, 10 % one-sided."""
_MOST_CHANCE_OF_GAP, _WITH_FEW_OTHERS = 2e-2, 2e-4
"""Far below all noise is proof, if there are enough others to know what noise does."""
_ENOUGH_OTHERS = 100
_USUAL_NOISE, _USUAL_COUNT = 0.02, 3.0
"""What noise is before it is measured, and for how many measurements that counts, as for the levels."""
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

    def middle(self, most: float) -> float:
        """Typical ratio, with losses of at most so much."""
        if self.is_expected or not len(self.ratios):
            return 0.0
        return float(np.maximum(self.ratios, float(np.median(self.ratios)) - most).mean())

    def squares(self, most: float) -> float:
        """Sum of squared distances from there."""
        return float((np.maximum(self.ratios - self.middle(most), -most) ** 2).sum())


def others(fit: Fit, accused: Collection[int]) -> Others:
    """Without anyone accused, and without what was slow with a node that was never cleared."""
    is_told = fit.observed.has_number & ~_touched(fit, accused)
    slow = np.flatnonzero(is_told & fit.is_slow)
    cleared = {node: controls.is_cleared(fit, node, set()) for each in slow for node in fit.nodes_of[each]}
    is_told[[each for each in slow if not all(cleared[node] for node in fit.nodes_of[each])]] = False
    return Others(ratios=fit.ratios[is_told], is_expected=fit.levels.is_expected)


def is_proven(fit: Fit, part: int, accused: Collection[int], rest: Others) -> bool:
    """Whether noise hardly makes a healthy part of that kind, the likeliest of all, as slow as this one."""
    own = fit.encounters_of(part)
    own = own[fit.observed.has_number[own] & ~_touched(fit, [each for each in accused if each != part])[own]]
    if not len(own) or not (len(rest.ratios) or rest.is_expected):
        return False
    ratios = np.sort(fit.ratios[own])
    alike = len(fit.parts.number(fit.parts.keys[part][0]))
    of_gap = _MOST_CHANCE_OF_GAP if len(rest.ratios) >= _ENOUGH_OTHERS else _WITH_FEW_OTHERS
    return alike * _of_mean(ratios, rest) < _MOST_CHANCE_OF_MEAN or alike * _of_gap(ratios, rest) < of_gap


def _of_mean(ratios: Floats, rest: Others) -> float:
    """Student's test of two means. The slowest does not count: one can be slow for any reason."""
    kept = ratios[1:] if len(ratios) > 1 else ratios
    most = -float(kept.mean())
    squares = rest.squares(most) + float(((ratios - ratios.mean()) ** 2).sum())
    freedom = len(rest.ratios) + len(ratios) - 1 + _USUAL_COUNT
    noise = math.sqrt((squares + _USUAL_COUNT * _USUAL_NOISE**2) / freedom)
    error = noise * math.sqrt(1 / len(kept) + (0.0 if rest.is_expected else 1 / len(rest.ratios)))
    return float(stdtr(freedom, -(most + rest.middle(most)) / error))


def _of_gap(ratios: Floats, rest: Others) -> float:
    """That so many are far below all noise, where a fault comes and goes: each for a reason that does not last."""
    most = -float(ratios.mean())
    freedom = len(rest.ratios) + _USUAL_COUNT
    noise = math.sqrt((rest.squares(most) + _USUAL_COUNT * _USUAL_NOISE**2) / freedom)
    slow = int((ratios < rest.middle(most) - _FAR * noise).sum())
    if slow < _FEWEST_SLOW or len(rest.ratios) < _FEWEST_OTHERS:
        return 1.0
    return float(bdtrc(slow - 1, len(ratios), GLITCH + stdtr(freedom, -_FAR)))


def _touched(fit: Fit, parts: Collection[int]) -> Flags:
    found: Flags = np.zeros(len(fit.ratios), dtype=bool)
    for part in parts:
        found[fit.encounters_of(part)] = True
    return found
