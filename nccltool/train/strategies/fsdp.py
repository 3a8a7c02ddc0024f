"""FSDP2 (fully_shard)."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions, OffloadOptions, ShardOptions, option


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, ShardOptions, OffloadOptions):
    """Its options."""

    reshard: bool = option(
        True, 100, "FSDP: keep parameters between the forward and backward pass.", word="no-reshard"
    )
    """Parameters are given back after the forward pass, and gathered again for the backward pass."""
    wrap: str = option("block", 110, "FSDP: what to gather at once.", choices=("block", "model"))
    param_dtype: str = option("", 130, "FSDP: gather and compute in bfloat16 or float16.", metavar="TYPE")
    """Of gathered parameters and of the arithmetic; empty = as they are."""
    reduce_dtype: str = option("", 140, "FSDP: type for reduction.  [default: --param-dtype]", metavar="TYPE")
    """Empty = as they are."""
