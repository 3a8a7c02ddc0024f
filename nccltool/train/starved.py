"""JUDGE which rank lacks a core: it could have run, and did not. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.train.result import RankStarved

LEAST = 0.1
"""Share of a rank's time in which it lacked a core, at least, in each part of the steps."""
STANDS_OUT = 2.0
"""And of the time in which it could run, it ran at most half as much as each other rank, in each part: on a host
with fewer cores than ranks, all lack them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduled:
    """What the kernel made of a rank's time."""

    took_ns: int
    ran_ns: int
    """The thread that trains."""
    queued_ns: int
    moving_ns: int
    """The thread of its communication that lacked a core longest."""

    @property
    def queued(self) -> float:
        """Share of the time in which the thread that trains could have run, and did not."""
        return self.queued_ns / max(1, self.took_ns)

    @property
    def lacked(self) -> float:
        """The same of the rank: while that thread waits for its data, those that move them may lack one."""
        return min(1.0, (self.queued_ns + self.moving_ns) / max(1, self.took_ns))

    @property
    def served(self) -> float:
        """Share of the time in which the thread that trains could run, in which it ran."""
        return self.ran_ns / max(1, self.ran_ns + self.queued_ns)


def parts(numbers: Sequence[int]) -> tuple[Scheduled, ...]:
    """Four numbers for each part of the steps; () = the kernel does not tell."""
    rows = zip(*[iter(numbers)] * 4, strict=True)
    found = tuple(
        Scheduled(took_ns=took, ran_ns=ran, queued_ns=queued, moving_ns=moving)
        for took, ran, queued, moving in rows
    )
    return () if min(numbers, default=-1) < 0 else found


def of(ranks: Sequence[Sequence[Scheduled]]) -> RankStarved | None:
    """The rank that lacked a core in each part of the steps, far more than each other one."""
    if len(ranks) < 2 or not all(ranks):
        return None
    lacked = [sum(part.lacked for part in mine) / len(mine) for mine in ranks]
    rank = min(range(len(ranks)), key=lambda one: sum(part.served for part in ranks[one]))
    others = [one for one in range(len(ranks)) if one != rank]
    for part, mine in enumerate(ranks[rank]):
        least = min(ranks[other][part].served for other in others)
        if mine.queued < LEAST or STANDS_OUT * mine.served > least:
            return None
    return RankStarved(rank=rank, share=lacked[rank], others=max(lacked[other] for other in others))
