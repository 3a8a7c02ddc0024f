"""Pipeline parallelism: each rank has some of the layers, and micro-batches flow through them (GPipe or 1F1B)."""

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.pipelining.schedules import PipelineScheduleSingle

from nccltool.worker import splitting, transformer
from nccltool.worker.trainings.base import CannotTrain, Setup, Strategy

PHASE = "forward and backward"


class Training(Strategy):
    """See the module."""

    COLLECTIVES: ClassVar = {PHASE: "send_recv of activations and of their gradients"}

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        spec, world = setup.spec, setup.world
        parts = list(self.whole_model())
        if len(parts) < world:
            raise CannotTrain(f"{spec.layers} layers and both ends make {len(parts)} stages, not {world}")
        self.micro_batches = spec.micro_batches * world
        if setup.sequences % self.micro_batches:
            raise CannotTrain(
                f"{setup.sequences} sequences do not make {self.micro_batches} micro-batches (--micro-batches)"
            )
        self.model = splitting.stage(parts, setup.rank, world)
        splitting.note_computing(self.model, setup, PHASE)
        self._schedule = self._scheduled()
        self.optimizer = self.sgd()

    def _scheduled(self) -> PipelineScheduleSingle:
        setup = self.setup
        stage = PipelineStage(self.model, setup.rank, setup.world, setup.device)
        kind: Any = ScheduleGPipe if setup.spec.schedule == "gpipe" else Schedule1F1B
        schedule: PipelineScheduleSingle = kind(
            stage, self.micro_batches, loss_fn=transformer.loss_of, scale_grads=not self._fault_is("sum")
        )
        return schedule

    def _fault_is(self, action: str) -> bool:
        return self.setup.fault is not None and self.setup.fault.action == action

    def forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        """See Strategy: the first stage takes the tokens, the last one the targets."""
        setup = self.setup
        parts = list(tokens.chunk(self.micro_batches))
        if setup.is_due("duplicate", number):
            parts[-1] = parts[0]
        mine = torch.cat(parts)
        is_first, is_last = setup.rank == 0, setup.rank == setup.world - 1
        losses: list[Tensor] = []
        arguments = (mine[:, :-1].contiguous(),) if is_first else ()
        extra = {"target": mine[:, 1:].contiguous(), "losses": losses} if is_last else {}
        with setup.inside(PHASE), setup.lower():
            self._schedule.step(*arguments, return_outputs=False, **extra)
        self._go_wrong(number)
        return {index: loss.detach() for index, loss in enumerate(losses)}

    def _go_wrong(self, number: int) -> None:
        """Drills: the gradients of this stage are lost, or scaled by one micro-batch too few."""
        setup = self.setup
        factor = 0.0 if setup.is_due("lose", number) else 1.0
        if setup.is_due("scale", number):
            factor = self.micro_batches / (self.micro_batches - 1)
        if factor != 1.0:
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(factor)
