"""Pipeline, data and tensor parallelism at once: two stages, pairs of ranks that share layers, and replicas.

A step of the default model on rank 0 of 4: 5 send, 131,076 bytes, and 5 recv, 131,076 bytes: 4
micro-batches, and a number as in `pipeline`; 82 all_reduce, 1,848,064 bytes: 6 in each of 2 blocks for each
micro-batch, and 34 averages of parameters over the replicas.
"""

from typing import ClassVar

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from nccltool.train.strategies.three_d import PAIR, RANKS, STAGES
from nccltool.worker.train import gradients, splitting
from nccltool.worker.train.gradients import local
from nccltool.worker.train.pipeline_stages import PHASE, Pipelined
from nccltool.worker.train.strategies.base import Setup


class Training(Pipelined):
    COLLECTIVES: ClassVar = {
        PHASE: "send_recv between stages, all_reduce in pairs",
        "backward": "all_reduce of the gradients between replicas",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        replicas = setup.world // RANKS
        self.holders = setup.world // STAGES
        mesh = init_device_mesh(
            setup.device.type, (STAGES, replicas, PAIR), mesh_dim_names=("pipe", "data", "tensor")
        )
        self.replica, self.replicas = mesh.get_local_rank("data"), replicas
        self._group = mesh.get_group("data")
        self.take_stages(mesh.get_local_rank("pipe"), STAGES, self.options.micro_batches * STAGES)
        splitting.cut(self.model, mesh["tensor"])
        self.schedule(mesh.get_group("pipe"))
        self.optimizer = self.sgd()

    def reduce_gradients(self) -> None:
        """The average over the replicas."""
        with self.setup.communicating("backward"), torch.no_grad():
            for gradient in gradients.of(self.model.parameters()):
                dist.all_reduce(local(gradient).div_(self.replicas), group=self._group)
