"""Pipeline parallelism."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from nccltool.train.pipeline_schedules import SCHEDULES, stages_of
from nccltool.train.strategies.base import Needs, PipelineOptions, TuningPlace, Variant

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

Options = PipelineOptions


_KEEPS = {"gpipe": "; a rank then keeps the activations of all micro-batches"}
"""What a schedule costs besides time."""


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Each stage has a part, and each micro-batch a sequence."""
    options = spec.of(PipelineOptions)
    return Needs(parts=ranks * stages_of(options.schedule, options.stages), sequences=options.micro_batches)


def variants(own: PipelineOptions, place: TuningPlace) -> Iterator[Variant]:
    """Schedules fill a rank's waits with other micro-batches, stages, or halves of a backward pass."""
    for schedule in SCHEDULES:
        if schedule != own.schedule:
            yield Variant(
                name=f"schedule {schedule}",
                setting=f"--schedule {schedule}{_KEEPS.get(schedule, '')}",
                options=replace(own, schedule=schedule, stages=None),
            )
    yield Variant(
        name=f"{2 * own.micro_batches} micro-batches per rank",
        setting=f"--micro-batches {2 * own.micro_batches}",
        options=replace(own, micro_batches=2 * own.micro_batches),
    )
