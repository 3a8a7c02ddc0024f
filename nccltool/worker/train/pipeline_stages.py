"""A pipeline: stages of the model on ranks, and the schedule by which micro-batches flow through them."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import pipelining
from torch.distributed.pipelining import PipelineStage

from nccltool.train import pipeline_schedules
from nccltool.worker.train import splitting
from nccltool.worker.train.stopwatch import Flow, Stopwatch
from nccltool.worker.train.strategies.base import CannotTrain, Setup

PHASE = "forward and backward"
CLASSES = {
    "gpipe": "ScheduleGPipe",
    "1f1b": "Schedule1F1B",
    "interleaved": "ScheduleInterleaved1F1B",
    "zero-bubble": "ScheduleInterleavedZeroBubble",
    "zbv": "ScheduleZBVZeroBubble",
}
_COMPUTING = ("forward_one_chunk", "backward_one_chunk", "backward_weight_one_chunk")
"""Of a stage: what its rank does besides waiting."""


class Pipeline:
    """This rank's stages of `parts`, of which there are as many on each of `ranks`."""

    def __init__(
        self,
        setup: Setup,
        parts: Sequence[nn.Module],
        rank: int,
        ranks: int,
        micro_batches: int,
        replicas: int = 1,
    ) -> None:
        spec = setup.spec
        stages = pipeline_schedules.stages_of(spec.schedule, spec.stages)
        self._setup, self._count = setup, stages * ranks
        self.flow = Flow(
            ranks=ranks,
            micro_batches=micro_batches,
            stages=stages,
            computing=Stopwatch(setup.device),
            running=Stopwatch(setup.device),
        )
        if len(parts) < self._count:
            raise CannotTrain(
                f"{spec.layers} layers and both ends make {len(parts)} stages, not {self._count} (--layers)"
            )
        if setup.sequences % (replicas * micro_batches):
            raise CannotTrain(
                f"{setup.sequences} sequences do not make {replicas * micro_batches} micro-batches"
                " (--micro-batches)"
            )
        # the second stage of a rank in a V is on the way back
        numbers = [turn * ranks + rank for turn in range(stages)]
        self._numbers = [rank, self._count - 1 - rank] if spec.schedule == "zbv" else numbers
        self._parts = {number: splitting.stage(parts, number, self._count) for number in self._numbers}
        mine = (named for part in self._parts.values() for named in part.named_children())
        self.model = nn.Sequential(OrderedDict(mine))

    @property
    def inner_layers(self) -> nn.Module | None:
        """As Strategy has it: tokens go to the first stage, targets to the last one."""
        return None if {0, self._count - 1} & set(self._numbers) else self._parts[min(self._numbers)]

    def schedule(self, loss_of: Callable[..., Tensor], group: Any = None) -> None:
        """Make the schedule, once the model is as it shall be."""
        setup = self._setup
        for part in self._parts.values():
            splitting.note_computing(part, setup, PHASE)
        stages = [self._stage(number, part, group) for number, part in self._parts.items()]
        name = CLASSES[setup.spec.schedule]
        kind: Any = getattr(pipelining, name, None)
        if kind is None:
            raise CannotTrain(f"this torch has no {name}, which came with a later one (--schedule)")
        is_single = setup.spec.schedule in ("gpipe", "1f1b")
        mine = stages[0] if is_single else stages
        made = kind(mine, self.flow.micro_batches, loss_fn=loss_of)
        self._step = self.flow.running.watched(made.step)

    def _stage(self, number: int, part: nn.Module, group: dist.ProcessGroup | None) -> PipelineStage:
        stage = PipelineStage(part, number, self._count, self._setup.device, group=group)
        for name in _COMPUTING:
            setattr(stage, name, self.flow.computing.watched(getattr(stage, name)))
        return stage

    def step(self, tokens: Tensor) -> list[Tensor]:
        """Forward and backward: the first stage takes tokens, the last one takes targets and gives the losses."""
        setup, losses = self._setup, list[Tensor]()
        arguments = (tokens[:, :-1].contiguous(),) if 0 in self._numbers else ()
        is_last = self._count - 1 in self._numbers
        extra = {"target": tokens[:, 1:].contiguous(), "losses": losses} if is_last else {}
        with setup.communicating(PHASE), setup.lower():
            self._step(*arguments, return_outputs=False, **extra)
        return losses
