"""Groups of options that several ways to train take. One without any takes StrategyOptions."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StrategyOptions:
    """What is for some ways to train only; those with fields of their own are bases of TrainSpec."""


@dataclass(frozen=True, kw_only=True)
class DataParallelOptions(StrategyOptions):
    """Where each rank has a part of the batch."""

    accumulate: int = 1
    """Micro-batches of each rank in a step."""


@dataclass(frozen=True, kw_only=True)
class PipelineOptions(StrategyOptions):
    """Where micro-batches flow through stages."""

    micro_batches: int = 2
    """Micro-batches of a pipeline for each of its ranks."""
    schedule: str = "1f1b"
    stages: int | None = None
    """Of a pipeline on each rank; None = as many as the schedule has."""


@dataclass(frozen=True, kw_only=True)
class ShardOptions(StrategyOptions):
    """Where ranks hold shards of parameters."""

    shard: str = "full"


@dataclass(frozen=True, kw_only=True)
class OffloadOptions(StrategyOptions):
    """Where a rank's part may live elsewhere."""

    offload: bool = False
    """Parameters, gradients and the optimizer's state live in the host's memory."""
