"""The healthy bandwidth of each class of encounters and the noise, from the data themselves.

Faults only make slower. So the healthy level is the highest bandwidth at which many encounters lie, even if more
are slower, and the noise is the spread above it. An expected bandwidth replaces the healthy level, up or down; the
noise is still the spread of the data.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from nccltool.localize.judge.observed import Observed
from nccltool.localize.judge.states import Floats

_SHARE = 0.25
_DENSE = 2.0
_LEAST_WIDTH = 0.02
_WIDTH_OF_FEW, _MOST_OF_FEW = 1.0, 0.15
"""A few slow ones can be close together by chance, closer than the fast ones."""
_LEAST_NOISE, _MOST_NOISE = 0.004, 0.35
_USUAL_NOISE, _USUAL_COUNT = 0.02, 3.0
_CLIP, _CLIPPED_VARIANCE = 2.5, 0.9776
_MEDIAN_OF_HALF = 0.6745
_TAIL_FROM, _NORMAL_TAIL, _WIDE_TAIL = 3.0, 0.0027, 0.317
_LEAST_TAIL, _MOST_TAIL = 0.005, 0.3
_GROUPS_FROM = 0.6
_TURNS = 3
_MUCH, _FEWEST_REPEATED = 1.5, 3
_LEAST_GAIN, _GAIN_SIGMAS = 0.06, 5.0
_FEWEST_FOR_GAIN = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels:
    """What healthy encounters reach, and how they spread."""

    healthy: Floats
    """Of each class: logarithm of the bandwidth."""
    sigma: float
    """Of the logarithm."""
    tail: float
    """The share of encounters with three times the noise."""
    is_expected: bool = False
    """Somebody named the healthy level: what is faster than that is as good as healthy."""

    def ratios(self, observed: Observed) -> Floats:
        """Logarithm of the speed of each encounter as a share of the healthy one."""
        return observed.logs - self.healthy[observed.class_of]


def first(observed: Observed, expected_log: float | None = None) -> Levels:
    """Before it is known who is slow."""
    healthy = np.zeros(observed.classes)
    for number in range(observed.classes):
        values = np.sort(observed.logs[(observed.class_of == number) & observed.has_number])
        healthy[number] = top_mode(values) if len(values) else math.nan
    known = healthy[~np.isnan(healthy)]
    healthy[np.isnan(healthy)] = known.max() if len(known) else 0.0
    found = refined(observed, healthy, np.ones(len(observed.logs)), is_first=True)
    if expected_log is None:
        return found
    return replace(found, healthy=np.full_like(healthy, expected_log), is_expected=True)


def refined(observed: Observed, healthy: Floats, weights: Floats, *, is_first: bool = False) -> Levels:
    """With the probability that each encounter is healthy."""
    rows = observed.has_number
    logs, classes, weights = observed.logs[rows], observed.class_of[rows], weights[rows]
    sigma, tail = _spread(logs - healthy[classes], weights)
    for _ in range(0 if is_first else _TURNS):
        ratios = logs - healthy[classes]
        robust = weights / (1 + (ratios / (_TAIL_FROM * sigma)) ** 2)
        sums = np.bincount(classes, robust, observed.classes)
        moves = np.bincount(classes, robust * ratios, observed.classes) / np.maximum(sums, 1.0)
        healthy = healthy + np.clip(moves, -sigma, sigma)
        sigma, tail = _spread(np.abs(logs - healthy[classes]), weights)
    repeated = _of_repeats(observed)
    if repeated > _MUCH * sigma:
        sigma = min(repeated, _MOST_NOISE)
    return Levels(healthy=_agreed(observed, healthy), sigma=sigma, tail=tail)


def _of_repeats(observed: Observed) -> float:
    """How much the same members differ from time to time, where at least half of the nodes tell; 0: they do not.

    Noise that makes only slower does not show above the healthy level.
    """
    rows = observed.has_number
    logs, same = observed.logs[rows], observed.same[rows]
    counts = np.bincount(same)
    is_repeated = counts > 1
    repeated = np.flatnonzero(rows)[is_repeated[same]]
    nodes = {name for number in repeated for name in observed.encounters[number].members}
    if is_repeated.sum() < _FEWEST_REPEATED or 2 * len(nodes) < len(observed.nodes):
        return 0.0
    means = np.bincount(same, logs) / np.maximum(counts, 1)
    squares = np.bincount(same, (logs - means[same]) ** 2)[is_repeated]
    return float(np.median(np.sqrt(squares / (counts[is_repeated] - 1))))


def _agreed(observed: Observed, healthy: Floats) -> Floats:
    """No group is healthy far below pairs."""
    pairs = healthy[~observed.is_group_class]
    if len(pairs):
        least = pairs.max() + math.log(_GROUPS_FROM)
        healthy = np.where(observed.is_group_class & (healthy < least), pairs.max(), healthy)
    return healthy


def top_mode(values: Floats) -> float:
    """The middle of the highest dense stretch of sorted values."""
    count = max(math.ceil(_SHARE * len(values)), min(2, len(values)))
    widths = values[count - 1 :] - values[: len(values) - count + 1]
    least = _LEAST_WIDTH + min(_WIDTH_OF_FEW / len(values), _MOST_OF_FEW)
    dense = np.flatnonzero(widths <= max(_DENSE * widths.min(), least))
    top = int(dense[-1])
    begin = max(top - count + 1, 0)
    place = begin + int(np.argmin(widths[begin : top + 1]))
    return float(np.median(values[place : place + count]))


def quick(observed: Observed, levels: Levels) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Encounters that are much faster than the healthy level.

    Of few, the one fast pair between slow ones would pass for noise.
    """
    is_few = int(observed.has_number.sum()) < _FEWEST_FOR_GAIN
    gain = max(_LEAST_GAIN, _GAIN_SIGMAS * (min(levels.sigma, _USUAL_NOISE) if is_few else levels.sigma))
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = observed.has_number & (levels.ratios(observed) > gain)
    return found


def _spread(ratios: Floats, weights: Floats) -> tuple[float, float]:
    """Noise and tail, from distances above the healthy level."""
    is_above = (ratios > 0) & (weights > 0)
    above, weight = ratios[is_above], weights[is_above]
    count = float(weight.sum())
    if not len(above) or count <= 0:
        return _USUAL_NOISE, _LEAST_TAIL
    order = np.argsort(above)
    middle = np.searchsorted(np.cumsum(weight[order]), count / 2)
    sigma = max(float(above[order][min(int(middle), len(above) - 1)]) / _MEDIAN_OF_HALF, _LEAST_NOISE)
    clipped = np.minimum(above, _CLIP * sigma)
    variance = float((weight * clipped**2).sum()) / count / _CLIPPED_VARIANCE
    variance = (count * variance + _USUAL_COUNT * _USUAL_NOISE**2) / (count + _USUAL_COUNT)
    sigma = min(max(math.sqrt(variance), _LEAST_NOISE), _MOST_NOISE)
    far = float(weight[above > _TAIL_FROM * sigma].sum()) / count
    tail = min(max((far - _NORMAL_TAIL) / _WIDE_TAIL, _LEAST_TAIL, 1 / (2 * count + 4)), _MOST_TAIL)
    return sigma, tail
