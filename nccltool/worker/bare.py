"""A rank's part of a data-parallel step without any communication: the yardstick of its timed steps."""

import torch
from torch import Tensor

from nccltool.worker import transformer
from nccltool.worker.trainings.base import Setup


class Bare:
    """The whole model and this rank's part of the batch, and nothing between ranks."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._model = transformer.make(setup.spec).to(setup.device)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=setup.spec.learning_rate)

    def step(self, tokens: Tensor, number: int) -> None:
        """Forward, backward and update on this rank's part of a global batch."""
        setup, accumulate = self._setup, self._setup.spec.accumulate
        self._optimizer.zero_grad()
        first = setup.rank * accumulate
        for part in tokens.chunk(setup.world * accumulate)[first : first + accumulate]:
            with setup.lower():
                loss = transformer.loss_of(self._model(part[:, :-1]), part[:, 1:])
            (loss / accumulate).backward()
        self._optimizer.step()
