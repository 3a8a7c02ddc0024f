"""Tensor parallelism in pairs of ranks, experts between the pairs."""

from typing import TYPE_CHECKING

from nccltool.train.strategies.base import EXPERTS, ExpertOptions, Needs

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

Options = ExpertOptions
NO_TUNING = "experts need the result of each all_to_all at once; its all_reduces feed the next layer"
RANKS = 2
_MOST = EXPERTS // RANKS
"""Pairs that share the experts: those of a host."""


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Pairs share heads, and blocks have experts."""
    return Needs(heads=ranks, experts=EXPERTS)


def groups(world: int) -> tuple[int, int]:
    """(replicas of the experts, pairs that share them)."""
    pairs = world // RANKS
    sharers = max(count for count in range(1, _MOST + 1) if pairs % count == 0)
    return pairs // sharers, sharers
