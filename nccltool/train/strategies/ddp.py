"""DistributedDataParallel."""

from dataclasses import dataclass

from nccltool.train.strategies.base import DataParallelOptions


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions):
    """Its options."""

    comm_hook: str = "none"
    bucket_mib: float = 25.0
    gradient_as_bucket_view: bool = False
    static_graph: bool = False
