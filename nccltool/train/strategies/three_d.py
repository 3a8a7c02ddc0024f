"""Pipeline, data and tensor parallelism at once."""

from dataclasses import dataclass

from nccltool.train.strategies.base import PipelineOptions


@dataclass(frozen=True, kw_only=True)
class Options(PipelineOptions):
    """Its options."""
