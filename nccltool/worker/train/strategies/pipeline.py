"""Pipeline parallelism: each rank has some of the layers, and micro-batches flow through them."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from nccltool.worker.train.pipeline_stages import PHASE, Pipeline
from nccltool.worker.train.strategies.base import Setup, Strategy


class Training(Strategy):
    """See the module."""

    COLLECTIVES: ClassVar = {PHASE: "send_recv of activations and of their gradients"}

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.micro_batches = setup.spec.micro_batches * setup.world
        parts = list(self.whole_model())
        self.pipeline = Pipeline(setup, parts, setup.rank, setup.world, self.micro_batches)
        self.pipeline.schedule(self.scaled_loss)
        self.model, self.flow = self.pipeline.model, self.pipeline.flow
        self.optimizer = self.sgd()
        self._number, self._calls, self._first = 0, 0, torch.empty(0)
        if setup.fault is not None and setup.fault.action == "duplicate" and not self.pipeline.takes_data:
            self.pipeline.earliest.register_forward_pre_hook(self._repeated)

    def holders(self) -> int:
        """See Strategy: those of a stage."""
        return 1

    def forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        """See Strategy."""
        self._number, self._calls = number, 0
        parts = list(tokens.chunk(self.micro_batches))
        if self.setup.is_due("duplicate", number):
            parts[-1] = parts[0]
        losses = self.pipeline.step(torch.cat(parts))
        self._go_wrong(number)
        return {index: self.seen(loss) for index, loss in enumerate(losses)}

    def _go_wrong(self, number: int) -> None:
        """Drills: the gradients of this stage are lost, summed, or scaled by one micro-batch too few."""
        setup = self.setup
        factor = 0.0 if setup.is_due("lose", number) else 1.0
        if setup.is_due("scale", number):
            factor = self.micro_batches / max(self.micro_batches - 1, 0.5)
        if setup.is_due("sum", number, anywhere=True):
            factor = float(self.micro_batches)
        if factor != 1.0:
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(factor)

    def _repeated(self, stage: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """A drill on a rank that sees no data: what comes of the first micro-batch stands for the last one too."""
        if not self.setup.is_due("duplicate", self._number):
            return None
        (came,) = inputs
        self._calls += 1
        if self._calls == 1:
            self._first = came.detach().clone()
        return (came + (self._first - came).detach(),) if self._calls == self.micro_batches else None
