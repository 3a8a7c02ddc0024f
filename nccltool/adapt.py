"""How long to warm up and how often to measure; pure, so that it can be tested on recorded samples.

Rank 0 decides from the samples over all ranks and tells the others, so that all ranks make the same calls
even where their arithmetic differs in the last bit.
"""

import math
from collections.abc import Sequence

from nccltool import stats

WARM_UP_BATCH = 5
WARM_UP_AGREES = 0.10
"""Warm-up ends when the medians of two successive batches are this close."""
WARM_UP_BATCHES = 10
"""And after this many batches at the latest: a machine can be too noisy to agree."""
WARM_UP_SHARE = 0.25
"""Share of a row's budget that warm-up may take."""

FIRST_BATCH = 50
"""The first and the last iteration of a batch, which overlap with one neighbour only, are 15 % slower over Gloo:
in batches of 20 the median was 2 to 4 % off that of 2,000 iterations, in these 0 to 2 % (scripts/bench adaptive).
"""
GROWTH = 0.5
"""A batch adds at most this share of the samples: the first intervals are rough, and a large step overshoots."""
MAX_SAMPLES = 5000
"""More say nothing new, and samples are kept and sent."""


def warm(medians: Sequence[float], spent_s: float, budget_s: float) -> bool:
    """Whether warm-up is over, from the medians of its batches so far (seconds)."""
    if len(medians) >= WARM_UP_BATCHES or spent_s > WARM_UP_SHARE * budget_s:
        return True
    if len(medians) < 2:
        return False
    before, last = medians[-2:]
    return abs(before - last) <= WARM_UP_AGREES * max(before, last)


def next_batch(
    samples: Sequence[float], spent_s: float, precision: float, budget_s: float, estimate_s: float | None
) -> int:
    """Iterations to add to `samples` (seconds each); 0 = enough.

    It is enough when the 95 % interval of the median is within `precision` (relative half-width), or when the
    budget is spent. Batches grow with what is there, so that the number of decisions stays small.
    `estimate_s` is the time of one iteration in warm-up.
    """
    if not samples:
        affordable = int(budget_s / estimate_s) if estimate_s else FIRST_BATCH
        return max(min(FIRST_BATCH, affordable), stats.MIN_FOR_INTERVAL)
    if len(samples) >= MAX_SAMPLES or spent_s >= budget_s:
        return 0
    width = stats.relative_half_width(samples)
    if width is not None and width <= precision:
        return 0
    mean = sum(samples) / len(samples)
    affordable = int((budget_s - spent_s) / mean) if mean else len(samples)
    # the width falls with the root of the count
    needed = len(samples) * ((width / precision) ** 2 - 1) * 1.1 if width else len(samples)
    wanted = min(int(needed) + 1, math.ceil(GROWTH * len(samples)), MAX_SAMPLES - len(samples))
    return max(min(wanted, affordable), 0)
