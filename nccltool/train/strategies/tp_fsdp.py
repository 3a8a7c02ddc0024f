"""Tensor parallelism in pairs of ranks, FSDP2 between the pairs."""

from typing import TYPE_CHECKING

from nccltool.train.strategies.base import DataParallelOptions, Needs

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

Options = DataParallelOptions
NO_TUNING = "its all_reduces feed the next layer; for its all_gathers, tune fsdp"
RANKS = 2


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Pairs share heads."""
    return Needs(heads=ranks)
