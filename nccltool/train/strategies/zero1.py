"""ZeRO stage 1 (ZeroRedundancyOptimizer)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nccltool.train.strategies.base import (
    DataParallelOptions,
    OptimizerOptions,
    TuningPlace,
    ValidationOptions,
    Variant,
    buckets,
)


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, OptimizerOptions, ValidationOptions):
    """Its options."""

    gradient_mib: float = 0.0
    """Of a bucket of gradients; 0 = as torch does where no size is given."""
    gradient_views: bool = False
    """Gradients are views of the buckets."""
    parameter_views: bool = False
    """Parameters are views of a bucket per rank, which is sent at once."""


def variants(own: Options, place: TuningPlace) -> Iterator[Variant]:
    """Buckets of gradients in the backward pass, and of parameters after the update."""
    for name, setting, mib in buckets(place):
        yield Variant(name=name, setting=setting, options=replace(own, gradient_mib=mib))
    yield Variant(
        name="gradients as views of buckets",
        setting="gradient_as_bucket_view=True",
        options=replace(own, gradient_views=True),
    )
    yield Variant(
        name="parameters as views of buckets",
        setting="parameters_as_bucket_view=True",
        options=replace(own, parameter_views=True),
    )
