"""JUDGE who the others waited for, from waiting times alone: no clocks are compared.

After the timed iterations, all ranks meet a few times in a tiny all-reduce, and each measures how long its
own call took. Nobody leaves it before the last one has come, so the rank that comes last waits least, and the
others wait for as long as it is late: lateness = (longest wait of the round) - (own wait). The size of the
measured operation plays no part, so a slow transfer is not taken for a late arrival.

`in_row` says who arrived late in a row; `over_rows`, who did so too often for chance.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

ROUNDS = 15
LAST_IN_SHARE = 0.8
"""A rank comes late in a row only if it came last in this share of the rounds. With two equal ranks that happens
by chance in 1.8 % of cases for each (binomial, 12 of 15), and must coincide with the next condition."""
LAST_IN_SHARE_OF_PART = 0.6
"""In each part of a long row: chance turns against the rank that it favoured."""
MIN_LATE_S = 1e-3
"""And if it was late by this much in the median: on busy CPUs a lateness of 1 ms cannot be told from noise
(Gloo, 4 ranks on 2 cores: the last one by chance in 44 % of the collectives)."""
MOST_NAMED = 24
"""Late ranks of a row that fit an event, the latest first: three hosts of eight."""
BY_CHANCE = 1e-3
"""How often a healthy rank comes late in a row, at most: none did in 1,563 rows of 2 to 8 ranks on 2 cores, beside
up to four busy loops. That is 3,914 ranks in rows, and so a rate under 0.8 in a thousand (95 %)."""
SURE = 0.05
"""In at most this share of healthy runs is any rank named, all ranks together (Bonferroni)."""
MIN_ROWS = 0.1
"""Share of the rows: a rank that is late in fewer costs a run little. One operation of ten is enough."""
FAIL_S = 10e-3
"""A rank that everybody waits for this long in at least half of the rows fails a run, as in the suites of
preflight: ten times what cannot be told from noise. Less is a warning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankLateness:
    """A rank that arrived late in a row."""

    rank: int
    late_s: float
    """After the last of those that were not late, in the median round."""


Row = Sequence[RankLateness] | None
"""Who came late, the latest first; None = arrivals were not measured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LateRank:
    """A rank that arrived late in more rows than chance explains."""

    rank: int
    late_s: float
    """In the median of the rows in which it came late."""
    least_s: float
    most_s: float
    rows: int
    """In which it came late."""
    of: int
    """Rows in which arrivals were measured."""
    chance: float
    """That any rank of healthy ones is late so often, at most."""

    @property
    def is_typical(self) -> bool:
        """Whether it is late in at least half of the rows."""
        return 2 * self.rows >= self.of

    @property
    def fails(self) -> bool:
        """Whether it costs so much that a run fails for it."""
        return self.is_typical and self.late_s >= FAIL_S

    def share_text(self, only: str, several: str) -> str:
        """`78 of 80 rows`; `only` stands for a single one."""
        if self.of == 1:
            return only
        return f"{'all ' if self.rows == self.of else f'{self.rows} of '}{self.of} {several}"


def in_row(waits_ns: Sequence[Sequence[int]], last_in_share: float = LAST_IN_SHARE) -> tuple[RankLateness, ...]:
    """The ranks that the others waited for, the latest first. `waits_ns[rank][round]`.

    Several are late together if they come after all others: ranks of a slow host. They are cut off where the
    lateness jumps most, and are never more than half of the ranks.
    """
    rounds, ranks = list(zip(*waits_ns, strict=True)), len(waits_ns)
    if ranks < 2 or not rounds:
        return ()
    late = [median(max(waits) - waits[rank] for waits in rounds) for rank in range(ranks)]
    order = sorted(range(ranks), key=late.__getitem__)
    cut = max(range(ranks - ranks // 2, ranks), key=lambda at: late[order[at]] - late[order[at - 1]])
    others, last = order[:cut], order[cut:]
    arrived = [min(waits[rank] for rank in others) for waits in rounds]
    """The wait of the last of the others: who waits less came after it."""
    after = sum(max(waits[rank] for rank in last) < wait for waits, wait in zip(rounds, arrived, strict=True))
    if after < last_in_share * len(rounds):
        return ()
    found = {
        rank: median(wait - waits[rank] for waits, wait in zip(rounds, arrived, strict=True)) / 1e9
        for rank in last
    }
    if min(found.values()) < MIN_LATE_S:
        return ()
    latest = sorted(found, key=found.__getitem__, reverse=True)[:MOST_NAMED]
    return tuple(RankLateness(rank=rank, late_s=found[rank]) for rank in latest)


def throughout(waits_ns: Sequence[Sequence[int]], parts: int) -> tuple[RankLateness, ...]:
    """As in_row, of a row so long that what disturbs a rank for a while may make it late: those that came late in
    most rounds of each part of it, too."""
    late, rounds = in_row(waits_ns), min(map(len, waits_ns), default=0)
    ends = [part * rounds // parts for part in range(parts + 1)]
    for begin, end in pairwise(ends):
        part = in_row([mine[begin:end] for mine in waits_ns], LAST_IN_SHARE_OF_PART)
        late = tuple(one for one in late if one.rank in {other.rank for other in part})
    return late


def as_pairs(late: Iterable[RankLateness]) -> tuple[tuple[int, float], ...]:
    """(rank, seconds), as events have them: with fewer letters."""
    return tuple((one.rank, one.late_s) for one in late)


def of_pairs(pairs: Iterable[tuple[int, float]]) -> tuple[RankLateness, ...]:
    return tuple(RankLateness(rank=rank, late_s=late_s) for rank, late_s in pairs)


def over_rows(rows: Iterable[Row], ranks: int) -> tuple[LateRank, ...]:
    """The ranks of a run that came late too often for chance, by their numbers.

    Under chance a rank is late in k of n rows as often as a binomial says. The rounds of a row are not counted one
    by one: they follow each other within milliseconds, and what disturbs one disturbs the next.
    """
    late, of = defaultdict[int, list[float]](list), 0
    for row in rows:
        of += row is not None
        for one in row or ():
            late[one.rank].append(one.late_s)
    found = (_of_rank(rank, late_s, of, ranks) for rank, late_s in sorted(late.items()))
    return tuple(one for one in found if one.chance <= SURE and one.rows >= MIN_ROWS * of)


def _of_rank(rank: int, late_s: Sequence[float], of: int, ranks: int) -> LateRank:
    return LateRank(
        rank=rank,
        late_s=median(late_s),
        least_s=min(late_s),
        most_s=max(late_s),
        rows=len(late_s),
        of=of,
        chance=min(1.0, ranks * _at_least(len(late_s), of)),
    )


def _at_least(rows: int, of: int) -> float:
    """How likely a healthy rank is late in so many rows, or in more (binomial)."""
    return math.fsum(math.exp(_log_of(k, of)) for k in range(rows, of + 1))


def _log_of(rows: int, of: int) -> float:
    ways = math.lgamma(of + 1) - math.lgamma(rows + 1) - math.lgamma(of - rows + 1)
    return ways + rows * math.log(BY_CHANCE) + (of - rows) * math.log1p(-BY_CHANCE)
