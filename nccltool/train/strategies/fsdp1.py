"""The older FullyShardedDataParallel."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nccltool.train.strategies.base import NO_OVERLAP, DataParallelOptions, ShardOptions, TuningPlace, Variant


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, ShardOptions):
    """Its options."""

    prefetch_backward: str = "BACKWARD_PRE"
    """When the next block is gathered in the backward pass; empty = when it is needed."""
    prefetch_forward: bool = False
    limit_all_gathers: bool = True
    wrap_mib: float = 0.0
    """Modules from this size on are gathered by themselves; 0 = each block."""
    whole: bool = False
    """The whole model is gathered at once."""
    sync_module_states: bool = False
    """Only rank 0 has the right parameters, and sends them to the others."""


def variants(own: Options, place: TuningPlace) -> Iterator[Variant]:
    """What is gathered at once, and how far ahead."""
    mib = place.mib / 16
    for name, setting, changed in (
        (f"whole model at once: {NO_OVERLAP}", "no auto_wrap_policy", replace(own, whole=True)),
        (
            "wrapping by size",
            f"size_based_auto_wrap_policy, modules from {mib:.2g} MiB",
            replace(own, wrap_mib=mib),
        ),
        ("no backward prefetch", "backward_prefetch=None", replace(own, prefetch_backward="")),
        (
            "later backward prefetch",
            "backward_prefetch=BackwardPrefetch.BACKWARD_POST",
            replace(own, prefetch_backward="BACKWARD_POST"),
        ),
        ("forward prefetch", "forward_prefetch=True", replace(own, prefetch_forward=True)),
        ("all-gathers without a limit", "limit_all_gathers=False", replace(own, limit_all_gathers=False)),
        (
            "initialization on rank 0",
            "sync_module_states=True",
            replace(own, sync_module_states=True),
        ),
    ):
        yield Variant(name=name, setting=setting, options=changed)
    if own.shard == "full":
        yield Variant(
            name="no resharding",
            setting="ShardingStrategy.SHARD_GRAD_OP; parameters stay whole until the backward pass",
            options=replace(own, shard="grad"),
        )
