"""Model parallelism by hand."""

from typing import TYPE_CHECKING

from nccltool.train.strategies.base import Needs

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

NO_TUNING = "only one rank computes at a time"
LEAST_RANKS = 2
"""Of a curve: one rank has all layers, or uses two GPUs."""


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Each rank has a part."""
    return Needs(parts=ranks)
