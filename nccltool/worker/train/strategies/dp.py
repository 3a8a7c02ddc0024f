"""nn.DataParallel: one process, threads of which have copies of the model on the GPUs of its host."""

from typing import ClassVar

import torch
from torch import nn

from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy


class Training(Strategy):
    COLLECTIVES: ClassVar = {
        "forward": "copies of the model and of the batch to all devices",
        "backward": "copies of the gradients to the first device",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.world > 1:
            why = f"it runs in one process, but there are {setup.world} ranks: use --nproc-per-node 1"
            raise CannotTrain(why, applies=False)
        devices = torch.cuda.device_count() if setup.device.type == "cuda" else 0
        if devices < 2:  # torch then calls the model as if it were not wrapped
            why = f"it splits a batch across the GPUs of one process, which has {devices}"
            raise CannotTrain(why, applies=False)
        order = sorted(range(devices), key=lambda index: index != setup.device.index)  # the model's own first
        self.wrapper = nn.DataParallel(self.whole_model(), device_ids=order)  # cuts the batch for its devices
        self.model = self.wrapper.module
        self.optimizer = self.sgd()
