"""Context parallelism (Ulysses)."""

from nccltool.train.strategies.base import StrategyOptions

Options = StrategyOptions
