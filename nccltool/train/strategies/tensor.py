"""Tensor parallelism."""

from dataclasses import dataclass

from nccltool.train.strategies.base import StrategyOptions, option


@dataclass(frozen=True, kw_only=True)
class Options(StrategyOptions):
    """Its options."""

    sequence_parallel: bool = option(False, 170, "Tensor: ranks share tokens between the layers that are cut.")
