"""The older FullyShardedDataParallel."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions, ShardOptions


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, ShardOptions):
    """Its options."""
