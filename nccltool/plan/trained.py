"""Trainings that were measured, as plans see them: model, layout, recipe, and the time of a step. Pure."""

from dataclasses import dataclass, replace

from nccltool.plan import step_time
from nccltool.plan.hardware import Machine
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import OPTIMIZERS, PRECISIONS, Recipe
from nccltool.plan.step_time import StepTime
from nccltool.train.result import ModelShape

STRATEGIES = ("ddp", "zero1", "fsdp", "pipeline")
"""Of nccltool train, those whose steps are predicted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredTraining:
    """What was trained: in float32, by SGD."""

    strategy: str
    shape: ModelShape
    ranks: int
    micro_batches: int = 1
    """Of a pipeline, in a step."""
    schedule: str = "1f1b"

    @property
    def model(self) -> Model:
        """As nccltool.worker.train.transformer has it."""
        shape = self.shape
        return Model(
            name=f"{shape.layers} layers of {shape.width}",
            layers=shape.layers,
            width=shape.width,
            heads=shape.heads,
            kv_heads=shape.heads,
            head_width=shape.width // shape.heads,
            hidden=4 * shape.width,
            vocabulary=shape.vocabulary,
            block="gpt",
            is_gated=False,
            positions=shape.context,
        )

    @property
    def layout(self) -> ParallelLayout:
        ranks = self.ranks
        match self.strategy:
            case "ddp":
                return ParallelLayout(replicate=ranks, micro_batch=self.shape.batch)
            case "zero1":
                return ParallelLayout(shard=ranks, sharding="optimizer", micro_batch=self.shape.batch)
            case "fsdp":
                return ParallelLayout(
                    shard=ranks, sharding="parameters", micro_batch=self.shape.batch, ends_apart=True
                )
        each = self.shape.batch * self.shape.ranks // self.micro_batches
        return ParallelLayout(
            replicate=ranks // self.shape.ranks,
            pipeline=self.shape.ranks,
            schedule=self.schedule,
            micro_batch=each,
        )

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            precision=PRECISIONS["fp32"],
            optimizer=OPTIMIZERS["sgd"],
            sequence=self.shape.context,
            global_batch=self.shape.batch * self.ranks,
        )

    @property
    def flop(self) -> float:
        """Of a step, on each rank."""
        return self.model.flop_per_token(self.shape.context) * self.shape.batch * self.shape.context


def with_arithmetic(machine: Machine, step: MeasuredTraining, compute_s: float) -> Machine:
    """A machine that computes as fast as a rank did alone, its update included."""
    return replace(machine, training_flop_per_s=step.flop / compute_s)


def predicted(step: MeasuredTraining, machine: Machine) -> StepTime:
    """Of a step on a machine whose arithmetic is measured."""
    assert machine.training_flop_per_s is not None
    return step_time.of(step.model, step.layout, step.recipe, machine, 1.0)
