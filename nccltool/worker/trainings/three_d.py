"""Pipeline, data and tensor parallelism at once: two stages, pairs of ranks that share layers, and replicas."""

from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.pipelining.schedules import PipelineScheduleSingle

from nccltool.worker import splitting, transformer
from nccltool.worker.trainings.base import CannotTrain, Setup, Strategy, local

STAGES = PAIR = 2
PHASE = "forward and backward"


class Training(Strategy):
    """See the module."""

    COLLECTIVES: ClassVar = {
        PHASE: "send_recv between stages, all_reduce in pairs",
        "backward": "all_reduce of the gradients between replicas",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        spec, replicas = setup.spec, setup.world // (STAGES * PAIR)
        if setup.world % (STAGES * PAIR):
            raise CannotTrain(f"{setup.world} ranks do not make {STAGES} stages of pairs")
        if spec.heads % PAIR:
            raise CannotTrain(f"{spec.heads} attention heads cannot be shared by {PAIR} ranks")
        self._each = spec.micro_batches * STAGES
        self.micro_batches = replicas * self._each
        if setup.sequences % self.micro_batches:
            raise CannotTrain(f"{setup.sequences} sequences do not make {self.micro_batches} micro-batches")
        mesh = init_device_mesh(
            setup.device.type, (STAGES, replicas, PAIR), mesh_dim_names=("pipe", "data", "tensor")
        )
        self._stage, self._replica = mesh.get_local_rank("pipe"), mesh.get_local_rank("data")
        self._replicas, self._group = replicas, mesh.get_group("data")
        self.model = splitting.stage(list(self.whole_model()), self._stage, STAGES)
        splitting.cut(self.model, mesh["tensor"])
        splitting.note_computing(self.model, setup, PHASE)
        self._schedule = self._scheduled(mesh.get_group("pipe"))
        self.optimizer = self.sgd()

    def _scheduled(self, group: dist.ProcessGroup) -> PipelineScheduleSingle:
        setup = self.setup
        part = PipelineStage(self.model, self._stage, STAGES, setup.device, group=group)
        kind: Any = ScheduleGPipe if setup.spec.schedule == "gpipe" else Schedule1F1B
        schedule: PipelineScheduleSingle = kind(part, self._each, loss_fn=transformer.loss_of)
        return schedule

    def forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        """See Strategy: each replica has its part of the batch in micro-batches."""
        setup, losses = self.setup, list[Tensor]()
        replica = self._replica
        mine = tokens.chunk(self._replicas)[replica]
        if setup.is_due("duplicate", number):
            mine = mine.roll(1, dims=0)
        arguments = (mine[:, :-1].contiguous(),) if self._stage == 0 else ()
        is_last = self._stage == STAGES - 1
        extra = {"target": mine[:, 1:].contiguous(), "losses": losses} if is_last else {}
        with setup.inside(PHASE), setup.lower():
            self._schedule.step(*arguments, return_outputs=False, **extra)
        with setup.inside("backward"):
            self._average(number)
        return {replica * self._each + index: loss.detach() for index, loss in enumerate(losses)}

    def _average(self, number: int) -> None:
        setup = self.setup
        factor = 0.0 if setup.is_due("lose", number) else 2.0 if setup.is_due("scale", number) else 1.0
        # of one replica, a sum is the average; the drill must do something all the same
        divisor = self._replicas if not setup.is_due("sum", number, anywhere=True) else self._replicas / 2
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                gradient = local(parameter.grad)
                with torch.no_grad():
                    gradient.mul_(factor / divisor)
                dist.all_reduce(gradient, group=self._group)
