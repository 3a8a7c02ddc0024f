"""Tensor parallelism."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nccltool.train.strategies.base import Needs, StrategyOptions, option

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

NO_TUNING = "its all_reduces feed the next layer, and torch hides them only on GPUs with NVLink and torch.compile"


@dataclass(frozen=True, kw_only=True)
class Options(StrategyOptions):
    """Its options."""

    sequence_parallel: bool = option(False, 170, "Tensor: also split the sequence between ranks.")


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Ranks share heads, and tokens too where that was asked for."""
    return Needs(heads=ranks, tokens=ranks if spec.of(Options).sequence_parallel else 1)
