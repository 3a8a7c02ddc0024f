"""Statistics of one measurement; pure Python, so that the runner needs no numpy."""

import math
import random
from collections.abc import Sequence

from nccltool.model import Stats

MIN_FOR_P99 = 100
"""With fewer samples the 99th percentile is the maximum."""
MIN_FOR_INTERVAL = 5
_BLOCKS = 50
_RESAMPLES = 400


def summarise(seconds: Sequence[float]) -> Stats:
    """Statistics of per-iteration times; percentiles by nearest rank."""
    ordered = sorted(seconds)
    return Stats(
        mean=_mean(ordered),
        median=_middle(ordered),
        p90=_nearest_rank(ordered, 0.90),
        p99=_nearest_rank(ordered, 0.99) if len(ordered) >= MIN_FOR_P99 else None,
        min=ordered[0],
        max=ordered[-1],
        ci95=interval(seconds) if len(ordered) >= MIN_FOR_INTERVAL else None,
    )


def interval(seconds: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean by a block bootstrap: neither a distribution nor independence is assumed.

    `seconds` in the order of measurement. Successive iterations disturb each other, so stretches of them are
    resampled, not single ones (Kuensch 1989); percentiles of the resampled means (Efron 1979).
    """
    blocks = _blocks(seconds)
    source = random.Random(0)  # noqa: S311 - resampling, and the same run must give the same interval
    count = len(blocks)
    means = sorted(_mean(source.choices(blocks, k=count)) for _ in range(_RESAMPLES))
    return _nearest_rank(means, 0.025), _nearest_rank(means, 0.975)


def _blocks(seconds: Sequence[float]) -> list[float]:
    """Means of equal stretches, _BLOCKS of them or somewhat more; a remainder joins the last."""
    length = max(len(seconds) // _BLOCKS, 1)
    starts = range(0, len(seconds) - length + 1, length)
    ends = [*list(starts)[1:], len(seconds)]
    return [_mean(seconds[start:end]) for start, end in zip(starts, ends, strict=True)]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _nearest_rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(math.ceil(len(ordered) * share), 1) - 1]
