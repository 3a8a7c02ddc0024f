"""Pipeline parallelism: each rank has some of the layers, and micro-batches flow through them."""

from typing import ClassVar

from nccltool.worker.train.pipeline_stages import PHASE, Pipelined
from nccltool.worker.train.strategies.base import Setup


class Training(Pipelined):
    COLLECTIVES: ClassVar = {PHASE: "send_recv of activations and of their gradients"}

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.holders = 1
        self.take_stages(setup.rank, setup.world, self.options.micro_batches * setup.world)
        self.schedule()
        self.optimizer = self.sgd()
