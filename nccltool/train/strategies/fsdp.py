"""FSDP2 (fully_shard)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nccltool.train.strategies.base import (
    NO_OVERLAP,
    DataParallelOptions,
    OffloadOptions,
    OptimizerOptions,
    ShardOptions,
    TuningPlace,
    ValidationOptions,
    Variant,
    option,
)


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, OptimizerOptions, ValidationOptions, ShardOptions, OffloadOptions):
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
    lora: int = option(0, 125, "FSDP: train only low-rank adapters of RANK.", metavar="RANK", least=0)
    """0 = all parameters."""
    reshard_ranks: int = 0
    """After the forward pass parameters stay whole in groups of so many ranks; 0 = of all, as `reshard` says."""
    forward_prefetch: int = 0
    """Blocks that are gathered ahead."""
    backward_prefetch: int = 1
    """The same in the backward pass, where torch gathers one ahead by itself."""
    gather_mib: float = 0.0
    """Of blocks that follow each other, as many are gathered at once as have so much; 0 = one."""
    root_split: bool = True
    """The two ends of the model are gathered by themselves, not with the root."""
    init_on_rank_0: bool = False
    """Only rank 0 makes the parameters, and sends them to the others."""


def variants(own: Options, place: TuningPlace) -> Iterator[Variant]:
    """What is gathered at once, how far ahead, and whether it is gathered again."""
    if own.wrap != "model":
        yield Variant(
            name=f"whole model at once: {NO_OVERLAP}",
            setting="fully_shard(model) alone; every rank then holds all parameters at once",
            options=replace(own, wrap="model"),
        )
        yield from _prefetching(own)
        yield from _units(own, place.mib / 3)
    if own.reshard and own.shard == "full":
        yield Variant(
            name="no resharding",
            setting="reshard_after_forward=False; parameters stay whole until the backward pass",
            options=replace(own, reshard=False),
        )
        some = next((ranks for ranks in range(place.ranks // 2, 1, -1) if place.ranks % ranks == 0), None)
        if some is not None:
            yield Variant(
                name=f"resharding to {some} ranks",
                setting=f"reshard_after_forward={some}",
                options=replace(own, reshard_ranks=some),
            )
    if not own.offload:
        yield Variant(
            name="initialization on rank 0",
            setting="set_model_state_dict with broadcast_from_rank0=True",
            options=replace(own, init_on_rank_0=True),
        )
    if not own.reduce_dtype and not own.param_dtype:
        yield Variant(
            name="reduction in bfloat16",
            setting="MixedPrecisionPolicy(reduce_dtype=torch.bfloat16)",
            options=replace(own, reduce_dtype="bfloat16"),
            is_exact=False,
        )


def _prefetching(own: Options) -> Iterator[Variant]:
    yield Variant(
        name="no backward prefetch",
        setting="set_modules_to_backward_prefetch([itself])",
        options=replace(own, backward_prefetch=0),
    )
    for blocks in (1, 2):
        yield Variant(
            name=f"forward prefetch of {blocks}",
            setting=f"set_modules_to_forward_prefetch of {blocks}",
            options=replace(own, forward_prefetch=blocks),
        )
    yield Variant(
        name="backward prefetch of 2",
        setting="set_modules_to_backward_prefetch of 2",
        options=replace(own, backward_prefetch=2),
    )


def _units(own: Options, mib: float) -> Iterator[Variant]:
    yield Variant(
        name="wrapping by size",
        setting=f"fully_shard([block, block, ...]) of at least {mib:.2g} MiB",
        options=replace(own, gather_mib=mib),
    )
    yield Variant(
        name="ends of the model in the root",
        setting="fully_shard of the blocks and of the model, not of embedding and head",
        options=replace(own, root_split=False),
    )
