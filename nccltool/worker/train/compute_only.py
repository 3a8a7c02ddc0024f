"""A rank's part of a data-parallel step without any communication: the yardstick of its timed steps."""

import torch
from torch import Tensor, nn

from nccltool.worker.train import transformer
from nccltool.worker.train.loss_scale import Scaler
from nccltool.worker.train.strategies.base import Setup


class ComputeOnly:
    """The whole model and this rank's part of the batch, and nothing between ranks."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._model = transformer.make(setup.spec).to(setup.device)
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), lr=setup.spec.learning_rate, momentum=setup.spec.momentum
        )
        self._scaler = Scaler(setup.device) if setup.is_half else None

    def step(self, tokens: Tensor) -> None:
        """Forward, backward and update on this rank's part of a global batch."""
        setup, accumulate = self._setup, self._setup.spec.accumulate
        self._optimizer.zero_grad()
        scale = 1.0 if self._scaler is None else self._scaler.scale
        first = setup.rank * accumulate
        for part in tokens.chunk(setup.world * accumulate)[first : first + accumulate]:
            with setup.lower():
                scores = transformer.scores_in(setup.spec, self._model, part[:, :-1])
                loss = transformer.loss_of(scores, part[:, 1:])
            (loss / accumulate * scale).backward()
        self._update()

    def _update(self) -> None:
        scaler, limit = self._scaler, self._setup.spec.clip_norm
        if scaler is not None:
            gradients = (p.grad for p in self._model.parameters() if p.grad is not None)
            scaler.unscale(gradients, together=False)
            scaler.adapt()
        if limit is not None:
            nn.utils.clip_grad_norm_(self._model.parameters(), limit)
        if scaler is None or not scaler.overflowed:
            self._optimizer.step()
