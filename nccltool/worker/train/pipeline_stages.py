"""Pipelines: stages of the model on ranks, and the schedule by which micro-batches flow through them."""

from collections import OrderedDict
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import pipelining
from torch.distributed.pipelining import PipelineStage

from nccltool.train import pipeline_schedules
from nccltool.train.result import PASS_KINDS, PassKind
from nccltool.train.strategies.base import PipelineOptions
from nccltool.worker.train import splitting, transformer
from nccltool.worker.train.arrivals import COMPUTING
from nccltool.worker.train.stopwatch import Flow, Stopwatch
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy

PHASE = "forward and backward"
CLASSES = {
    "gpipe": "ScheduleGPipe",
    "1f1b": "Schedule1F1B",
    "interleaved": "ScheduleInterleaved1F1B",
    "zero-bubble": "ScheduleInterleavedZeroBubble",
    "zbv": "ScheduleZBVZeroBubble",
}
_CALLS: dict[str, PassKind] = {
    "forward_one_chunk": "forward",
    "backward_one_chunk": "backward",
    "backward_weight_one_chunk": "backward-weight",
}
"""Of a stage: what its rank does besides waiting."""


class Pipelined(Strategy):
    """What strategies share whose ranks have stages of the model."""

    HOLDS = "layers"
    flow: Flow

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.options = setup.spec.of(PipelineOptions)

    def take_stages(self, rank: int, ranks: int, micro_batches: int) -> None:
        """Keep those of this rank, of as many on each of `ranks`; every replica has so many micro-batches."""
        setup, parts, options = self.setup, list(self.whole_model()), self.options
        stages = pipeline_schedules.stages_of(options.schedule, options.stages)
        self._count, self.micro_batches = stages * ranks, self.replicas * micro_batches
        if setup.sequences % self.micro_batches:
            raise CannotTrain(
                f"{setup.sequences} sequences cannot be split into {self.micro_batches} micro-batches "
                "(--micro-batches)"
            )
        # the second stage of a rank in a V is on the way back
        numbers = [turn * ranks + rank for turn in range(stages)]
        self._numbers = [rank, self._count - 1 - rank] if options.schedule == "zbv" else numbers
        self._parts = {number: splitting.stage(parts, number, self._count) for number in self._numbers}
        mine = (named for part in self._parts.values() for named in part.named_children())
        self.model = nn.Sequential(OrderedDict(mine))
        if not {0, self._count - 1} & set(self._numbers):  # tokens go to the first stage, targets to the last one
            self.inner_layers = self._parts[min(self._numbers)]
        watches = Stopwatch(setup.device), Stopwatch(setup.device)
        self.flow = Flow(
            ranks=ranks, micro_batches=micro_batches, stages=stages, computing=watches[0], running=watches[1]
        )

    def schedule(self, group: dist.ProcessGroup | None = None) -> None:
        """Make the schedule, once the model is as it shall be."""
        setup = self.setup
        for part in self._parts.values():
            _note_computing(part, setup)
        stages = [self._stage(number, part, group) for number, part in self._parts.items()]
        name = CLASSES[self.options.schedule]
        kind: Any = getattr(pipelining, name, None)
        if kind is None:
            raise CannotTrain(f"this torch has no {name}, which needs a later version (--schedule)")
        is_single = self.options.schedule in ("gpipe", "1f1b")
        made = kind(stages[0] if is_single else stages, self.flow.micro_batches, loss_fn=self._loss_of)
        self._step = self.flow.running.watched(made.step)

    def _stage(self, number: int, part: nn.Module, group: dist.ProcessGroup | None) -> PipelineStage:
        comes, goes = ((self._example(at),) for at in (number, number + 1))
        stage = PipelineStage(part, number, self._count, self.setup.device, comes, goes, group=group)
        for name, kind in _CALLS.items():
            setattr(stage, name, self.flow.computing.watched(getattr(stage, name), partial(_label, kind, number)))
        return stage

    def _example(self, number: int) -> Tensor:
        """What goes into a stage, without numbers. Where torch is not told, ranks send each other objects about it
        at the first step, and compute one more micro-batch for that."""
        spec = self.setup.spec
        sequences = self.setup.sequences // self.micro_batches
        if number == 0:
            return torch.empty(sequences, spec.context, dtype=torch.int64, device="meta")
        whole = getattr(torch, "float64" if spec.dtype == "float64" else "float32")
        if number < self._count:  # residuals are not autocast
            shape, dtype = (sequences, spec.context, spec.width), whole
        else:
            shape, dtype = (sequences, spec.context, spec.vocabulary), getattr(torch, spec.dtype)
        return torch.empty(shape, dtype=dtype, device="meta", requires_grad=True)

    def _loss_of(self, scores: Tensor, targets: Tensor) -> Tensor:
        """A schedule begins the backward pass by itself."""
        return self.scaled(transformer.loss_of(scores, targets))

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """The first stage takes tokens, the last one takes targets and gives the losses."""
        setup, losses = self.setup, list[Tensor]()
        mine = self.my_part(tokens)
        arguments = (mine[:, :-1].contiguous(),) if 0 in self._numbers else ()
        is_last = self._count - 1 in self._numbers
        extra = {"target": mine[:, 1:].contiguous(), "losses": losses} if is_last else {}
        with setup.communicating(PHASE), setup.lower():
            self._step(*arguments, return_outputs=False, **extra)
        scale = 1.0 if self.scaler is None else self.scaler.scale
        return {
            self.replica * self.flow.micro_batches + index: loss.detach() / scale
            for index, loss in enumerate(losses)
        }


def _label(kind: PassKind, stage: int, *words: Any, **options: Any) -> tuple[int, ...]:
    """Of a call of a stage, whose first argument is the number of the micro-batch."""
    if not options.get("full_backward", True):
        kind = "backward-input"
    return PASS_KINDS.index(kind), stage, int(next(iter((*words, *options.values()))))


def _note_computing(part: nn.Module, setup: Setup) -> None:
    """While a stage computes, within a phase in which it otherwise waits, its rank waits for nobody."""
    part.register_forward_pre_hook(lambda *_: setup.computing(COMPUTING))
    part.register_forward_hook(lambda *_: setup.waiting(PHASE))
