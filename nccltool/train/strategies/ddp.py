"""DistributedDataParallel."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nccltool.train.strategies.base import (
    DataParallelOptions,
    OptimizerOptions,
    TuningPlace,
    ValidationOptions,
    Variant,
    buckets,
    option,
)

_HOOKS = ("none", "fp16", "bf16", "int8", "topk", "powersgd")
COMPRESSED = ("int8", "topk", "powersgd")
"""Those that do more than round to a type: the reference compresses its gradients too."""
CARRYING = ("topk", "powersgd")
"""What they leave out is kept for later steps."""


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, OptimizerOptions, ValidationOptions):
    """Its options."""

    halve_on_oom: bool = option(False, 12, "DDP: if memory runs out, halve the micro-batches of all ranks.")
    comm_hook: str = option("none", 40, "DDP: compress gradients.", choices=_HOOKS)
    bucket_mib: float = option(25.0, 50, "DDP: gradient bucket size.", metavar="MIB", least=0.001, word="bucket")
    gradient_as_bucket_view: bool = option(False, 60, "DDP: make gradients views of the buckets.")
    sync_batch_norm: bool = option(False, 45, "DDP: SyncBatchNorm instead of layer norms.")
    static_graph: bool = option(False, 70, "DDP: declare that the graph never changes.")
    small_first: bool = True
    """With buckets of torch's size, the first one is of 1 MiB, as torch does it where no size is given."""


def variants(own: Options, place: TuningPlace) -> Iterator[Variant]:
    """Buckets decide what the backward pass hides: one larger than the model is sent after the pass."""
    for name, setting, mib in buckets(place):
        other = replace(own, bucket_mib=mib, small_first=False)
        if other != own:
            yield Variant(name=name, setting=setting, options=other)
    if not own.static_graph and own.accumulate == 1:
        yield Variant(name="static graph", setting="static_graph=True", options=replace(own, static_graph=True))
    if not own.gradient_as_bucket_view:
        yield Variant(
            name="gradients as views of buckets",
            setting="gradient_as_bucket_view=True",
            options=replace(own, gradient_as_bucket_view=True),
        )
    micro_batches = own.accumulate if own.accumulate > 1 else 2
    if own.static_graph or place.batch % micro_batches:
        return
    accumulated = replace(own, accumulate=micro_batches)
    if accumulated != own:
        name = f"{micro_batches} micro-batches, the last one synchronized"
        yield Variant(name=name, setting="no_sync() around all but the last", options=accumulated)
    yield Variant(
        name=f"{micro_batches} micro-batches, each synchronized",
        setting="micro-batches without no_sync()",
        options=replace(accumulated, sync_each=True),
    )
