"""Pipeline parallelism."""

from nccltool.train.strategies.base import PipelineOptions

Options = PipelineOptions
