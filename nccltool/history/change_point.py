"""When a series changed its level: a test for a step, and the interval of its date. Pure; no numpy.

The test: the largest Student's t over all ways to cut the series in two, which is the likelihood ratio of a step
in normal numbers whose spread is not known. Its probability is at most the sum over all cuts (Bonferroni; Worsley
1979, On the likelihood ratio test for a shift in location of normal populations). Nights that resemble the night
before make steps out of nothing: t is reduced by the correlation of neighbours (Bartlett 1935).

The date: the distribution of the cut given the series, every cut being as likely before it was seen (Smith 1975, A
Bayesian approach to inference about a change-point). Named is the night whose week, three nights before and after
it, is the likeliest to have the step: it is off by more than three nights less often than the likeliest night.
Its interval holds that of two distributions: normal numbers, and Student's t with three degrees of freedom, in
which bad nights near the step are no surprise (Lange, Little, and Taylor 1989, Robust statistical modeling using
the t distribution). One bad night right before a step down looks like its first night, and nothing in the series
tells them apart: the interval reaches at least one night to each side.

Both are of logarithms, so that a change is a ratio. A value that stands alone against its neighbours is no level,
and is replaced by their median first (Hampel 1974).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean, median

from nccltool.compare.significance import critical, two_sided

FEWEST = 5
"""Values of a level: fewer are bad nights."""
CHANCE = 0.02
"""Of seeing a change in a series that has none, at most; the sum over the cuts makes it a fourth of that."""
SURE = 0.95
NEAR = 3
"""Nights around a date that count as that date."""
BAD_NIGHTS = 1
"""Nights beside a step that may belong to the other level."""
_SCREEN = 3.0
_OF_WHICH_FEW = 15
_NEIGHBOURS = 3
_STANDS_ALONE = 4.0
_TO_SIGMA = 1.4826 / math.sqrt(2)
"""Standard deviation of normal numbers over the median absolute difference of neighbours."""
_TO_SIGMA_OF_LEVEL = 1.4826
"""Standard deviation of normal numbers over the median absolute difference from their level."""
_FREEDOM = 3
_MOST_ALIKE = 0.9
_SMALLEST_REST = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePoint:
    """A step of a series; places count from 0."""

    at: int
    """The first value of the new level."""
    earliest: int
    latest: int
    """95 % interval of `at`."""
    before: float
    after: float
    """The levels on both sides, up to the next changes."""
    ratio: float
    """after / before."""
    ratio_low: float
    ratio_high: float
    """95 % interval of `ratio`."""
    chance: float
    """Of a step as clear as this where there is none."""


def may_have_changed(values: Sequence[float]) -> bool:
    """A quick look, for many series: False = a change is out of the question, or smaller than can be told."""
    if len(values) < 2 * FEWEST:
        return False
    logs = _clipped(list(map(math.log, values)))
    centre = fmean(logs)
    apart = [value - centre for value in logs]
    squares = math.fsum(value * value for value in apart)
    if squares <= 0:
        return False
    count = len(logs)
    sums = list(accumulate(apart))
    most = max(
        sums[cut - 1] ** 2 / (cut * (count - cut)) for cut in range(FEWEST, count - FEWEST + 1)
    )  # times count: what a cut explains
    explained = min(most * count / squares, 1.0)
    return explained * (count - 2) >= _SCREEN**2 * (1 - explained)


def _clipped(logs: list[float]) -> list[float]:
    """Without the few largest and smallest, fewer than a level has: one bad night would hide a small step."""
    ordered = sorted(logs)
    few = min(len(logs) // _OF_WHICH_FEW, FEWEST - 1)
    low, high = ordered[few], ordered[-1 - few]
    return [min(max(value, low), high) for value in logs]


def changes(values: Sequence[float], chance: float = CHANCE) -> tuple[ChangePoint, ...]:
    """The steps of positive values, in their order; none where a step is likelier than `chance` to be chance."""
    seen = list(map(math.log, values))
    logs = _without_lone(seen)
    cuts = sorted(_cuts(logs, 0, len(logs), chance))
    bounds = [0, *(cut for cut, _ in cuts), len(logs)]
    for place in range(1, len(bounds) - 1):  # dated again, between its neighbours alone
        begin, end = bounds[place - 1], bounds[place + 1]
        bounds[place] = begin + _date(logs[begin:end])[0]
    return tuple(
        _change(logs, begin, at, end, likely, _among_bad_nights(seen[begin:end], at - begin))
        for begin, at, end, (_, likely) in zip(bounds, bounds[1:], bounds[2:], cuts, strict=False)
    )


def _without_lone(logs: list[float]) -> list[float]:
    """Values that stand alone are replaced by the median of their neighbours: one bad night is no new level."""
    steps = [abs(after - before) for before, after in pairwise(logs)]
    sigma = _TO_SIGMA * median(steps) if steps else 0.0
    if sigma <= 0:
        return logs
    near = [median(logs[max(at - _NEIGHBOURS, 0) : at + _NEIGHBOURS + 1]) for at in range(len(logs))]
    return [
        middle if abs(value - middle) > _STANDS_ALONE * sigma else value
        for value, middle in zip(logs, near, strict=True)
    ]


def _cuts(logs: Sequence[float], begin: int, end: int, chance: float) -> list[tuple[int, float]]:
    """(the first place of a new level, its chance) of a stretch, which is cut as long as its parts have steps."""
    part = logs[begin:end]
    found = _test(part)
    if found is None or found[1] > chance:
        return []
    at = begin + _date(part)[0]
    return [*_cuts(logs, begin, at, chance), (at, found[1]), *_cuts(logs, at, end, chance)]


def _explained(logs: Sequence[float]) -> tuple[dict[int, float], float]:
    """(what each cut explains of the squares, all squares)."""
    count, centre = len(logs), fmean(logs)
    sums = list(accumulate(value - centre for value in logs))
    squares = math.fsum((value - centre) ** 2 for value in logs)
    cuts = range(FEWEST, count - FEWEST + 1)
    return {cut: sums[cut - 1] ** 2 * count / (cut * (count - cut)) for cut in cuts}, squares


def _test(logs: Sequence[float]) -> tuple[int, float] | None:
    """(the cut that explains most, its chance); None = too short, or all the same."""
    if len(logs) < 2 * FEWEST:
        return None
    explained, squares = _explained(logs)
    if squares <= _SMALLEST_REST * len(logs):
        return None
    cut = max(explained, key=explained.__getitem__)
    rest = max(squares - explained[cut], _SMALLEST_REST * squares)
    freedom = len(logs) - 2
    t = math.sqrt(freedom * explained[cut] / rest / _repeated(logs, cut))
    return cut, min(1.0, len(explained) * two_sided(t, freedom))


def _repeated(logs: Sequence[float], cut: int) -> float:
    """How many nights say as much as one that does not resemble the night before.

    Both sides are cut once more: a level that comes and goes is no resemblance.
    """
    rest: list[float] = []
    for part in (logs[:cut], logs[cut:]):
        again = len(part)
        if len(part) >= 2 * FEWEST:
            explained, _ = _explained(part)
            again = max(explained, key=explained.__getitem__)
        for level in filter(None, (part[:again], part[again:])):
            centre = fmean(level)
            rest += [value - centre for value in level]
    squares = math.fsum(value * value for value in rest)
    if squares <= 0:
        return 1.0
    alike = math.fsum(one * other for one, other in pairwise(rest)) / squares
    alike = min(max(alike, 0.0), _MOST_ALIKE)
    return (1 + alike) / (1 - alike)


def _date(logs: Sequence[float]) -> tuple[int, int, int]:
    """(the cut, its interval) of a stretch that has one."""
    explained, squares = _explained(logs)
    count = len(logs)
    least = _SMALLEST_REST * squares
    heights = {
        cut: -(count - 2) / 2 * math.log(max(squares - one, least)) - math.log(cut * (count - cut)) / 2
        for cut, one in explained.items()
    }
    weights = _weights(heights)

    def around(cut: int) -> tuple[float, float]:
        near = math.fsum(weights.get(other, 0.0) for other in range(cut - NEAR, cut + NEAR + 1))
        return near, weights[cut]

    kept = _likeliest(weights)
    at = max(weights, key=around)
    return at, min(*kept, at), max(*kept, at)


def _weights(heights: Mapping[int, float]) -> dict[int, float]:
    """Of the cuts, by the logarithms of what they explain."""
    top = max(heights.values())
    return {cut: math.exp(height - top) for cut, height in heights.items()}


def _likeliest(weights: Mapping[int, float]) -> list[int]:
    """The fewest cuts that are surely among them."""
    enough, likely, kept = SURE * math.fsum(weights.values()), 0.0, []
    for cut in sorted(weights, key=weights.__getitem__, reverse=True):
        kept.append(cut)
        likely += weights[cut]
        if likely >= enough:
            break
    return kept


def _among_bad_nights(logs: Sequence[float], at: int) -> list[int]:
    """The cuts that are likely if nights may be bad: the levels are the medians on both sides of `at`."""
    old, new = logs[:at], logs[at:]
    before, after = median(old), median(new)
    width = _TO_SIGMA_OF_LEVEL * median([*(abs(one - before) for one in old), *(abs(one - after) for one in new)])
    if width <= 0:
        return [at]

    def unlike(value: float, level: float) -> float:
        return -(_FREEDOM + 1) / 2 * math.log1p(((value - level) / width) ** 2 / _FREEDOM)

    gains = list(accumulate(unlike(value, before) - unlike(value, after) for value in logs))
    return _likeliest(_weights({cut: gains[cut - 1] for cut in range(FEWEST, len(logs) - FEWEST + 1)}))


def _change(
    logs: Sequence[float], begin: int, at: int, end: int, chance: float, likely: Sequence[int]
) -> ChangePoint:
    """A step between two levels. `likely`: cuts that belong to the interval of its date as well."""
    _, *dates = _date(logs[begin:end])
    dates += [*likely, at - begin - BAD_NIGHTS, at - begin + BAD_NIGHTS]
    old, new = logs[begin:at], logs[at:end]
    before, after = fmean(old), fmean(new)
    freedom = len(old) + len(new) - 2
    squares = math.fsum((v - before) ** 2 for v in old) + math.fsum((v - after) ** 2 for v in new)
    error = math.sqrt(squares / freedom * (1 / len(old) + 1 / len(new)) * _repeated(logs[begin:end], at - begin))
    wide = critical(1 - SURE, freedom) * error
    return ChangePoint(
        at=at,
        earliest=begin + min(dates),
        latest=begin + max(dates),
        before=math.exp(before),
        after=math.exp(after),
        ratio=math.exp(after - before),
        ratio_low=math.exp(after - before - wide),
        ratio_high=math.exp(after - before + wide),
        chance=chance,
    )
