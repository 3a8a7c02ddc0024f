"""Context parallelism (Ulysses)."""

from typing import TYPE_CHECKING

from nccltool.train.strategies.base import Needs

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

NO_TUNING = "attention needs the result of each all_to_all at once"


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Each rank has some tokens of all heads, and in between all tokens of some heads."""
    return Needs(heads=ranks, tokens=ranks)
