"""nn.DataParallel."""

from nccltool.train.strategies.base import StrategyOptions

Options = StrategyOptions
