"""ZeRO stage 1 (ZeroRedundancyOptimizer)."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions, OptimizerOptions, ValidationOptions


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, OptimizerOptions, ValidationOptions):
    """Its options."""
