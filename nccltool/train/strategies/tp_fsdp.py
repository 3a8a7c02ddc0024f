"""Tensor parallelism in pairs of ranks, FSDP2 between the pairs."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions):
    """Its options."""
