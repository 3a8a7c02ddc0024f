"""Pipeline, data and tensor parallelism at once."""

from nccltool.train.strategies.base import PipelineOptions

Options = PipelineOptions
