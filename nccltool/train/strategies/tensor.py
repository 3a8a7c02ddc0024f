"""Tensor parallelism."""

from dataclasses import dataclass

from nccltool.train.strategies.base import StrategyOptions


@dataclass(frozen=True, kw_only=True)
class Options(StrategyOptions):
    """Its options."""

    sequence_parallel: bool = False
    """Between the layers that tensor parallelism cuts, ranks share the tokens."""
