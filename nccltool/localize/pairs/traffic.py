"""Which rank of a meeting sends to which.

Ranks are numbered within the meeting: those of its first member, then those of its second, and so on. Pure.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PairExchange:
    """Of one rank: it sends to the rank in its place on the next member, and receives from the one before."""

    to: int
    source: int
    is_first: bool
    """It belongs to the first member, which sends first where one direction is measured alone."""


def exchange(rank: int, size: int, members: int) -> PairExchange:
    """Every member has the same number of ranks."""
    each = size // members
    return PairExchange(to=(rank + each) % size, source=(rank - each) % size, is_first=rank < each)
