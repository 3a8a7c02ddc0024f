"""DistributedDataParallel."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions, option

_HOOKS = ("none", "fp16", "bf16", "powersgd")


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions):
    """Its options."""

    comm_hook: str = option("none", 40, "DDP: compress gradients.", choices=_HOOKS)
    bucket_mib: float = option(25.0, 50, "DDP: gradient bucket size.", metavar="MIB", least=0.001, word="bucket")
    gradient_as_bucket_view: bool = option(False, 60, "DDP: make gradients views of the buckets.")
    static_graph: bool = option(False, 70, "DDP: declare that the graph never changes.")
