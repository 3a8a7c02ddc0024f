"""Pipeline, data and tensor parallelism at once: two stages, pairs of ranks that share layers, and replicas."""

from typing import ClassVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh

from nccltool.worker.train import splitting
from nccltool.worker.train.pipeline_stages import PHASE, Pipeline
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy, local

STAGES = PAIR = 2


class Training(Strategy):
    COLLECTIVES: ClassVar = {
        PHASE: "send_recv between stages, all_reduce in pairs",
        "backward": "all_reduce of the gradients between replicas",
    }
    HOLDS = "layers"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        spec, replicas = setup.spec, setup.world // (STAGES * PAIR)
        if setup.world % (STAGES * PAIR):
            raise CannotTrain(f"{setup.world} ranks do not make {STAGES} stages of pairs")
        if spec.heads % PAIR:
            raise CannotTrain(f"{spec.heads} attention heads cannot be shared by {PAIR} ranks")
        self._each = spec.micro_batches * STAGES
        self.micro_batches = replicas * self._each
        mesh = init_device_mesh(
            setup.device.type, (STAGES, replicas, PAIR), mesh_dim_names=("pipe", "data", "tensor")
        )
        self.replica, self.replicas = mesh.get_local_rank("data"), replicas
        self._group = mesh.get_group("data")
        self.pipeline = Pipeline(
            setup, list(self.whole_model()), mesh.get_local_rank("pipe"), STAGES, self._each, replicas
        )
        self.model, self.flow = self.pipeline.model, self.pipeline.flow
        self.inner_layers = self.pipeline.inner_layers
        splitting.cut(self.model, mesh["tensor"])
        self.pipeline.schedule(self.scaled_loss, mesh.get_group("pipe"))
        self.optimizer = self.sgd()

    def holders(self) -> int:
        return self.setup.world // STAGES

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """Each replica has its part of the batch in micro-batches."""
        losses = self.pipeline.step(tokens.chunk(self.replicas)[self.replica])
        return {self.replica * self._each + index: self.seen(loss) for index, loss in enumerate(losses)}

    def reduce_gradients(self) -> None:
        """The average over the replicas."""
        with self.setup.communicating("backward"), torch.no_grad():
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    gradient = local(parameter.grad).div_(self.replicas)
                    dist.all_reduce(gradient, group=self._group)
