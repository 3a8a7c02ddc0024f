"""FSDP2 (fully_shard)."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions, OffloadOptions, ShardOptions


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, ShardOptions, OffloadOptions):
    """Its options."""

    reshard: bool = True
    """Parameters are given back after the forward pass, and gathered again for the backward pass."""
    wrap: str = "block"
    """What is gathered at once: a block, or the whole model."""
    param_dtype: str = ""
    """Of gathered parameters and of the arithmetic; empty = as they are."""
    reduce_dtype: str = ""
    """In which gradients are reduced; empty = as they are."""
