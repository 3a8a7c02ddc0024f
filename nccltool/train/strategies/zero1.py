"""ZeRO stage 1 (ZeroRedundancyOptimizer)."""

from nccltool.train.strategies.base import DataParallelOptions

Options = DataParallelOptions
