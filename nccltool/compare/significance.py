"""Arithmetic on a few runs: how far they spread, how likely a difference is, and many tests at once. Pure."""

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist, median

NORMAL = math.inf
"""Degrees of freedom of a spread that is not an estimate."""

_TO_SIGMA = 1.4826
"""Standard deviation of normal numbers over their median absolute deviation."""
_SMALL = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
"""Of so few numbers it is too small by this factor; beyond, n / (n - 0.8). Croux and Rousseeuw 1992,
Time-efficient algorithms for two highly robust estimators of scale."""
_MEDIAN = {1: 1.0, 2: 1.0, 3: 1.347, 4: 1.194, 5: 1.435, 6: 1.289, 7: 1.474, 8: 1.347, 9: 1.496, 10: 1.384}
"""Variance of the median of normal numbers over that of their mean, from 60,000 draws of each; beyond, its limit
of pi / 2. A test draws them again."""


def robust_sigma(values: Sequence[float]) -> float | None:
    """Standard deviation by the median absolute deviation; None under two values."""
    if len(values) < 2:
        return None
    centre = median(values)
    count = len(values)
    factor = _SMALL.get(count, count / (count - 0.8))
    return _TO_SIGMA * factor * median(abs(value - centre) for value in values)


def pooled_sigma(*groups: Sequence[float]) -> float | None:
    """Standard deviation inside groups of equal spread; None when no group has two values."""
    freedom = sum(len(group) - 1 for group in groups if group)
    if freedom < 1:
        return None
    means = [sum(group) / len(group) for group in groups]
    squares = sum((value - mean) ** 2 for group, mean in zip(groups, means, strict=True) for value in group)
    return math.sqrt(squares / freedom)


def median_variance(count: int) -> float:
    """Variance of the median of `count` normal numbers of variance 1."""
    return _MEDIAN.get(count, math.pi / 2) / count


def two_sided(statistic: float, freedom: float) -> float:
    """How likely Student's t is to be at least so far from 0; `freedom` is a whole number, or NORMAL.

    Finite sums of Abramowitz and Stegun 1964, 26.7.3 (odd) and 26.7.4 (even).
    """
    if freedom == NORMAL:
        return 2 * NormalDist().cdf(-abs(statistic))
    angle = math.atan2(abs(statistic), math.sqrt(freedom))
    odd = int(freedom) % 2
    term = total = math.cos(angle) if odd else 1.0
    for n in range(2 + odd, int(freedom), 2):
        term *= math.cos(angle) ** 2 * (n - 1) / n
        total += term
    if not odd:
        return max(1 - math.sin(angle) * total, 0.0)
    return max(1 - 2 / math.pi * (angle + (math.sin(angle) * total if freedom > 1 else 0.0)), 0.0)


@functools.cache
def critical(chance: float, freedom: float) -> float:
    """The t that is reached, on one side or the other, with this chance."""
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > chance:
        low, high = high, high * 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > chance else (low, middle)
    return high


def holm(chances: Sequence[float]) -> list[float]:
    """The same, as likely as they are when all of them were looked at (Holm 1979, A simple sequentially rejective
    multiple test procedure): at a threshold of alpha, at most alpha of all families have a false one."""
    adjusted, worst = [1.0] * len(chances), 0.0
    for place, index in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        worst = max(worst, min(1.0, chances[index] * (len(chances) - place)))
        adjusted[index] = worst
    return adjusted
