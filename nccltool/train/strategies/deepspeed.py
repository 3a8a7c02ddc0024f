"""ZeRO of DeepSpeed."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions, OffloadOptions, option


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, OffloadOptions):
    """Its options."""

    zero: int = option(1, 180, "DeepSpeed: ZeRO stage.", metavar="STAGE", least=1, most=3)
    """1 shards the optimizer's state, 2 gradients too, 3 parameters too."""
