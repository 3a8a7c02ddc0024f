"""Tensor parallelism: the linear layers of a block are cut by columns, then by rows; ranks share each sequence."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh

from nccltool.worker import splitting, transformer
from nccltool.worker.trainings.base import CannotTrain, Setup, Strategy, local


class Training(Strategy):
    """See the module."""

    COLLECTIVES: ClassVar = {
        "forward": "all_reduce of what attention and feed-forward parts put out",
        "backward": "all_reduce of the gradients of what went into them",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        spec, world = setup.spec, setup.world
        if spec.heads % world:
            raise CannotTrain(f"{spec.heads} attention heads cannot be shared by {world} ranks")
        self.micro_batches = 1
        mesh = init_device_mesh(setup.device.type, (world,))
        self.model = self.whole_model()
        splitting.cut(self.model, mesh)
        self.optimizer = self.sgd()

    def forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        """See Strategy: every rank sees the whole batch."""
        setup = self.setup
        if setup.is_due("duplicate", number):
            tokens = tokens.roll(1, dims=0)
        if setup.is_due("lose", number):
            with torch.no_grad():
                max((local(p) for p in self.model.parameters()), key=Tensor.numel).zero_()
        with setup.inside("forward"), setup.lower():
            loss = transformer.loss_of(self.model(tokens[:, :-1]), tokens[:, 1:])
        wrong = setup.is_due("scale", number) or setup.is_due("sum", number, anywhere=True)
        setup.outside("between forward and backward")
        with setup.inside("backward"):
            (loss * 2 if wrong else loss).backward()
        return {0: loss.detach()}
