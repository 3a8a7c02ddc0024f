"""Pipeline, data and tensor parallelism at once."""

import math
from typing import TYPE_CHECKING

from nccltool.train.pipeline_schedules import stages_of
from nccltool.train.strategies.base import Needs, PipelineOptions, schedules

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

Options = PipelineOptions
variants = schedules
STAGES = PAIR = 2
RANKS = STAGES * PAIR


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Pairs share heads; the two sequences of a pair are in one micro-batch."""
    options = spec.of(PipelineOptions)
    micro_batches = options.micro_batches
    return Needs(
        heads=PAIR,
        parts=STAGES * stages_of(options.schedule, options.stages),
        sequences=micro_batches // math.gcd(micro_batches, PAIR),
    )
