"""ZeRO of DeepSpeed."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions, OffloadOptions


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, OffloadOptions):
    """Its options."""

    zero: int = 1
    """Stage of ZeRO: 1 shards the optimizer's state, 2 gradients too, 3 parameters too."""
