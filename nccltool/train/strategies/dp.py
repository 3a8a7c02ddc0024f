"""nn.DataParallel."""

from dataclasses import dataclass

from nccltool.train.strategies.base import StrategyOptions


@dataclass(frozen=True, kw_only=True)
class Options(StrategyOptions):
    """Its options."""
