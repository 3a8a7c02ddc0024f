"""How likely each measurement is at each level of slowness."""

import math

import numpy as np
from scipy.special import ndtr

from nccltool.localize.judge.levels import Levels
from nccltool.localize.judge.observed import Observed
from nccltool.localize.judge.states import DEAD, LEVELS, LOSSES, Floats

GLITCH = 0.002
"""The share of encounters that are slow once, for no lasting reason."""
_RANGE = 3.2
_SLOWEST = -3.0
_MISSING = 0.02
"""How often healthy nodes give no number."""
_DEAD_WITH_A_NUMBER = 0.01
_WIDE = 3.0


def of_levels(observed: Observed, levels: Levels) -> Floats:
    """Encounters x levels; the largest of each row is 1."""
    ratios = np.clip(levels.ratios(observed), _SLOWEST, 0.0 if levels.is_expected else None)[:, None]
    sigma = levels.sigma
    found = np.empty((len(ratios), LEVELS))
    found[:, :1] = (1 - levels.tail) * _normal(ratios, sigma) + levels.tail * _normal(ratios, _WIDE * sigma)
    below = ndtr((ratios + LOSSES) / sigma)
    found[:, 1:DEAD] = np.diff(below, axis=1) / np.diff(LOSSES)
    found[:, :DEAD] = (1 - GLITCH) * found[:, :DEAD] + GLITCH / _RANGE
    found[:, DEAD] = _DEAD_WITH_A_NUMBER / _RANGE
    found[~observed.has_number, :DEAD] = _MISSING
    found[~observed.has_number, DEAD] = 1 - _MISSING
    found /= found.max(axis=1, keepdims=True)
    return found


def _normal(ratios: Floats, sigma: float) -> Floats:
    found: Floats = np.exp(-((ratios / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))
    return found
