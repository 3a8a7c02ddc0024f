"""Tensor parallelism in pairs of ranks, FSDP2 between the pairs."""

from nccltool.train.strategies.base import DataParallelOptions

Options = DataParallelOptions
