"""JUDGE who the others waited for, from waiting times alone: no clocks are compared.

After the timed iterations, all ranks meet a few times in a tiny all-reduce, and each measures how long its
own call took. Nobody leaves it before the last one has come, so the rank that comes last waits least, and the
others wait for as long as it is late: lateness = (longest wait of the round) - (own wait). The size of the
measured operation plays no part, so a slow transfer is not taken for a late arrival.
"""

from collections.abc import Sequence
from statistics import median

ROUNDS = 15
LAST_IN_SHARE = 0.8
"""A rank is named only if it came last in this share of the rounds. With two equal ranks that happens by chance
in 1.8 % of cases for each (binomial, 12 of 15), and must coincide with the next condition."""
MIN_LATE_S = 1e-3
"""And if it was late by this much in the median: on busy CPUs a lateness of 1 ms cannot be told from noise
(Gloo, 4 ranks on 2 cores: the last one by chance in 44 % of the collectives)."""


def latest(waits_ns: Sequence[Sequence[int]]) -> tuple[int, float] | None:
    """(rank, seconds) of the rank that the others waited for, or None. `waits_ns[rank][round]`."""
    rounds = list(zip(*waits_ns, strict=True))
    if len(waits_ns) < 2 or not rounds:
        return None
    late = [median(max(waits) - waits[rank] for waits in rounds) for rank in range(len(waits_ns))]
    suspect = max(range(len(late)), key=late.__getitem__)
    times_last = sum(1 for waits in rounds if min(waits) == waits[suspect])
    late_s = late[suspect] / 1e9
    if times_last < LAST_IN_SHARE * len(rounds) or late_s < MIN_LATE_S:
        return None
    return suspect, late_s
