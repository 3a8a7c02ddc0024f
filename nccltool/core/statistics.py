"""Statistics of one measurement; pure Python, so that the runner needs no numpy."""

import functools
import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

STATISTIC: Final = "mean"
"""What every output takes as the time of a row (Stats.seconds); docs/concepts.md#one-number says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stats:
    """Seconds per iteration over the iterations of one measurement. None = the source of the numbers keeps no
    single iterations: output of nccl-tests has the mean only."""

    mean: float
    median: float | None
    p90: float | None
    p99: float | None
    """None under 100 samples too: it would be the maximum under another name."""
    min: float | None
    max: float | None
    ci95: tuple[float, float] | None
    """95 % interval of the median; None when there are too few samples."""

    @property
    def seconds(self) -> float:
        """The one number: tables, bandwidths, comparisons, thresholds and metrics are all made of it."""
        return self.mean

    @property
    def seconds_between(self) -> tuple[float, float]:
        """What it could be: the 95 % interval of the median, widened to the mean where a tail pulls that away."""
        low, high = self.ci95 or (self.seconds, self.seconds)
        return min(low, self.seconds), max(high, self.seconds)

    @property
    def relative_error(self) -> float | None:
        """How far off it could be, as a share of it; None when there are too few samples."""
        if self.ci95 is None or not self.seconds:
            return None
        low, high = self.seconds_between
        return max(high - self.seconds, self.seconds - low) / self.seconds


MIN_FOR_P99 = 100
"""With fewer samples the 99th percentile is the maximum."""
MIN_FOR_INTERVAL = 5
_BLOCKS = 50
_LEAST_BLOCKS = 10
_BY_CHANCE = 1.645
"""Standard deviations that a correlation exceeds in one of 20 cases where there is none."""


def summarise(seconds: Sequence[float]) -> Stats:
    """Statistics of per-iteration times; percentiles by nearest rank."""
    ordered = sorted(seconds)
    return Stats(
        mean=sum(ordered) / len(ordered),
        median=median(ordered),
        p90=_nearest_rank(ordered, 0.90),
        p99=_nearest_rank(ordered, 0.99) if len(ordered) >= MIN_FOR_P99 else None,
        min=ordered[0],
        max=ordered[-1],
        ci95=interval(seconds) if len(ordered) >= MIN_FOR_INTERVAL else None,
    )


def interval(seconds: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median by a block bootstrap: neither a distribution nor independence is assumed.

    `seconds` in the order of measurement. Successive iterations disturb each other, so the medians of whole
    stretches are looked at, not single iterations (Kuensch 1989); the ends are two of them (_bounds). Stretches
    that are still like their neighbours are made longer. Of the median and not of the mean: on a busy machine the
    mean hangs on a few iterations that the scheduler interrupted, and no affordable count narrows it down.
    """
    return _between(sorted(_block_medians(seconds)), median(seconds), 0.05)


def interval_of(values: Sequence[float], risk: float) -> tuple[float, float] | None:
    """As `interval`, which is wrong in one of 20 cases, with another risk; None = too few values for it."""
    blocks = sorted(_block_medians(values)) if values else []
    if 2 * 0.5 ** len(blocks) > risk:
        return None
    return _between(blocks, median(values), risk)


def _between(blocks: Sequence[float], centre: float, risk: float) -> tuple[float, float]:
    low, high = _bounds(len(blocks), risk)
    return min(blocks[low], centre), max(blocks[high], centre)


def relative_half_width(seconds: Sequence[float]) -> float | None:
    """Half the interval, relative to the median; None when there are too few samples."""
    if len(seconds) < MIN_FOR_INTERVAL:
        return None
    low, high = interval(seconds)
    centre = median(seconds)
    return (high - low) / 2 / centre if centre else None


def _block_medians(seconds: Sequence[float]) -> list[float]:
    """Medians of at most _BLOCKS equal stretches; fewer, and longer, where these depend on each other.

    Of odd length: the median of a pair is its mean, and the mean of skewed times is not their median.
    """
    length = math.ceil(len(seconds) / _BLOCKS) | 1
    blocks = _medians(seconds, length)
    while _alike(blocks) and len(seconds) // (2 * length + 1) >= _LEAST_BLOCKS:
        length = 2 * length + 1
        blocks = _medians(seconds, length)
    return blocks


def _medians(seconds: Sequence[float], length: int) -> list[float]:
    """A remainder joins the last stretch."""
    starts = range(0, len(seconds) - length + 1, length)
    ends = [*starts[1:], len(seconds)]
    return [median(seconds[start:end]) for start, end in zip(starts, ends, strict=True)]


def _alike(blocks: Sequence[float]) -> bool:
    """Whether neighbours are more alike than chance makes them: correlation of ranks at lag 1 (Wald and Wolfowitz
    1943), whose standard deviation without any is 1 / sqrt(count)."""
    count, ordered = len(blocks), sorted(blocks)
    ranks = [bisect_left(ordered, block) + bisect_right(ordered, block) - count for block in blocks]
    together = sum(a * b for a, b in itertools.pairwise(ranks))
    return together * math.sqrt(count) > _BY_CHANCE * sum(rank * rank for rank in ranks)


@functools.cache
def _bounds(count: int, risk: float) -> tuple[int, int]:
    """Indices, in `count` sorted numbers, of the ends of the interval that misses their median with this risk.

    Each number is below it with the chance 1/2, so how many are is binomial: exact for any distribution (Conover
    1999, section 3.2), where percentiles of resampled medians cover 88 % with 7 numbers and 91 % with 23. Five
    have no interval of 95 %: theirs, the least and the greatest, is one of 93.75 %.
    """
    at_most = itertools.accumulate(math.comb(count, below) / 2**count for below in range(count))
    low = max(sum(chance <= risk / 2 for chance in at_most) - 1, 0)
    return low, count - 1 - low


def _nearest_rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(math.ceil(len(ordered) * share), 1) - 1]
