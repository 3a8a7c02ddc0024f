"""Pipeline parallelism."""

from typing import TYPE_CHECKING

from nccltool.train.pipeline_schedules import stages_of
from nccltool.train.strategies.base import Needs, PipelineOptions, schedules

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

Options = PipelineOptions
variants = schedules


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Each stage has a part, and each micro-batch a sequence."""
    options = spec.of(PipelineOptions)
    return Needs(parts=ranks * stages_of(options.schedule, options.stages), sequences=options.micro_batches)
