"""How long to warm up and how often to measure; pure, so that it can be tested on recorded samples.

Rank 0 decides from the samples over all ranks and tells the others, so that all ranks make the same calls
even where their arithmetic differs in the last bit.
"""

import math
from collections.abc import Sequence

from nccltool.core import statistics

WARM_UP_BATCH = 5
WARM_UP_AGREES = 0.10
"""Warm-up ends when the medians of two successive batches are this close."""
WARM_UP_BATCHES = 10
"""And after this many batches at the latest: a machine can be too noisy to agree."""
WARM_UP_SHARE = 0.25
"""Share of a row's budget that warm-up may take."""

FIRST_BATCH = 50
GROWTH = 0.5
"""A batch adds at most this share of the samples: intervals are rough, and a large step overshoots."""
LEAST_GROWTH = 0.1
"""And at least this one: each batch costs an agreement and its edges."""
LEAST_S = 0.15
"""A row is measured for so long at least, where its budget allows. An interval is itself an estimate: who stops at
the first narrow one stops at a lucky one. Of medians taken until then, 5 % were more than 2 % off that of 2,000
iterations; with this, 2 % (sizes up to 1 MiB, simulated on recorded streams of Gloo over one core).
"""
EDGES_FROM = 10
"""In batches from this size on the first and the last iteration are not counted. They overlap with one neighbour
only: over Gloo the first takes 1.15 of the time of the others and the last 1.33, which moves a median by 1 %.
In smaller batches, which are those of calls that are long for the budget, two more would cost too much.
"""
VAGUE_ABOVE = 0.10
"""A row that could be further off than this is marked for people: it cannot show that a host has lost one of eight
adapters, which costs 12.5 %.
"""
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


def edges(count: int) -> int:
    """Iterations before, and as many after, a batch of `count` that run like it and are not counted."""
    return 1 if count >= EDGES_FROM else 0


def next_batch(
    samples: Sequence[float], spent_s: float, precision: float, budget_s: float, estimate_s: float | None
) -> int:
    """Iterations to add to `samples` (seconds each); 0 = enough.

    It is enough when the 95 % interval of the median is within `precision` (relative half-width) and the samples
    are those of LEAST_S, or when the budget is spent. Batches grow with what is there, so that the number of
    decisions stays small. `estimate_s` is the time of one iteration in warm-up; None = nothing is known.
    """
    if not samples:
        affordable = int(budget_s / estimate_s) if estimate_s else 0
        return max(min(FIRST_BATCH, affordable), statistics.MIN_FOR_INTERVAL)
    if len(samples) >= MAX_SAMPLES or spent_s >= budget_s:
        return 0
    count, measured = len(samples), sum(samples)
    wanted = min(_missing(samples, precision), MAX_SAMPLES - count)
    affordable = int((budget_s - spent_s) * count / measured) if measured else count
    return max(min(wanted, affordable), 0)


def _missing(samples: Sequence[float], precision: float) -> int:
    """Iterations that are lacking until the time is long enough, and then until the interval is narrow enough."""
    count, measured = len(samples), sum(samples)
    if 0 < measured < LEAST_S:
        return math.ceil(count * (LEAST_S / measured - 1))
    noise = _noise(samples, precision)
    if noise is not None and noise <= 1:
        return 0
    # it falls with the root of the count
    needed = int(count * (noise**2 - 1) * 1.1) + 1 if noise is not None else count
    return min(max(needed, int(LEAST_GROWTH * count)), math.ceil(GROWTH * count))


def is_noisy(samples: Sequence[float], precision: float) -> bool:
    """Whether the budget ended before the interval was as narrow as asked for."""
    noise = _noise(samples, precision)
    return noise is None or noise > 1


def _noise(samples: Sequence[float], precision: float) -> float | None:
    """How many times wider the interval is than asked for; None when there are too few samples."""
    width = statistics.relative_half_width(samples)
    return None if width is None else width / precision
