"""ZeRO stage 1 (ZeroRedundancyOptimizer): as ddp, but each rank updates a part of the parameters and sends it."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from nccltool.worker.train.strategies.base import DataParallel, Setup


class Training(DataParallel):
    COLLECTIVES: ClassVar = {"backward": "all_reduce of the gradients", "updating": "broadcast of the parameters"}

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._ddp = DistributedDataParallel(
            self.whole_model(), device_ids=[setup.device] if setup.device.type == "cuda" else None
        )
        self.model: nn.Module = self._ddp.module
        self.optimizer = ZeroRedundancyOptimizer(
            self.model.parameters(),
            optimizer_class=torch.optim.SGD,
            lr=setup.spec.learning_rate,
            momentum=setup.spec.momentum,
        )

    def scores(self, inputs: Tensor) -> Tensor:
        scores: Tensor = self._ddp(inputs)
        return scores

    def synchronising(self, is_last: bool) -> AbstractContextManager[Any]:
        return nullcontext() if is_last else self._ddp.no_sync()

    def apply(self) -> None:
        with self.setup.communicating("updating"):
            self.optimizer.step()

    def own_optimizer(self) -> torch.optim.Optimizer:
        own: torch.optim.Optimizer = self.optimizer.optim
        return own
