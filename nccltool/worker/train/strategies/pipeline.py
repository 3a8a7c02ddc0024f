"""Pipeline parallelism: each rank has some of the layers, and micro-batches flow through them."""

from typing import ClassVar

from torch import Tensor

from nccltool.worker.train.pipeline_stages import PHASE, Pipeline
from nccltool.worker.train.strategies.base import Setup, Strategy


class Training(Strategy):
    COLLECTIVES: ClassVar = {PHASE: "send_recv of activations and of their gradients"}
    HOLDS = "layers"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.micro_batches = setup.spec.micro_batches * setup.world
        parts = list(self.whole_model())
        self.pipeline = Pipeline(setup, parts, setup.rank, setup.world, self.micro_batches)
        self.pipeline.schedule(self.scaled_loss)
        self.model, self.flow = self.pipeline.model, self.pipeline.flow
        self.optimizer = self.sgd()
        self.inner_layers = self.pipeline.inner_layers

    def holders(self) -> int:
        return 1

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        return {index: self.seen(loss) for index, loss in enumerate(self.pipeline.step(tokens))}
