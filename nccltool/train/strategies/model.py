"""Model parallelism by hand."""

from nccltool.train.strategies.base import StrategyOptions

Options = StrategyOptions
