"""Model parallelism by hand: some layers on each device, and the whole batch goes from one to the next.

The devices are those of the ranks, which send activations on and gradients back; or, of one rank on a host with
several GPUs, the first two of these.

A step of the default model on rank 0 of 4: 1 send, 131,072 bytes, of activations, and 1 recv,
131,072 bytes, of their gradients: 16 sequences with 32 tokens, 64 wide.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nccltool.worker.train import splitting, transformer
from nccltool.worker.train.arrivals import BETWEEN_PASSES, COMPUTING
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy


class Training(Strategy):
    COLLECTIVES: ClassVar = {"forward": "send_recv of activations", "backward": "send_recv of their gradients"}
    HOLDS = "layers"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._shared = self.share()
        self.holders = self.replicas
        self._is_first, self._is_last = self._shared.rank == 0, self._shared.rank == self._shared.ranks - 1
        self.model = self._placed(list(self.whole_model()))
        self.inner_layers = None if self._is_first or self._is_last else self.model
        self.optimizer = self.sgd()

    def _placed(self, parts: Sequence[nn.Module]) -> nn.Sequential:
        setup = self.setup
        if setup.world > 1:
            return splitting.stage(parts, self._shared.rank, self._shared.ranks)
        if setup.device.type != "cuda" or torch.cuda.device_count() < 2:
            why = "its layers need two devices: two ranks, or one on a host with two GPUs"
            raise CannotTrain(why, applies=False)
        other = (setup.device.index + 1) % torch.cuda.device_count()
        return Halves(parts, [setup.device, torch.device("cuda", other)])

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        setup, tokens = self.setup, self.my_part(tokens)
        came = self._came(tokens)
        setup.computing(COMPUTING)
        with setup.lower():
            went = self.model(tokens[:, :-1] if came is None else came)
        if not self._is_last:
            with setup.communicating("forward"):
                dist.send(went.detach().contiguous(), setup.rank + 1)
            losses, back = {}, self._back(went)
        else:
            loss = transformer.loss_of(went, tokens[:, 1:].to(went.device))
            losses, back = {self.replica: loss.detach()}, None
            setup.computing(BETWEEN_PASSES)
            went = self.scaled(loss)
        went.backward(back)
        if came is not None and came.grad is not None:
            with setup.communicating("backward"):
                dist.send(came.grad.contiguous(), setup.rank - 1)
        return losses

    def _came(self, tokens: Tensor) -> Tensor | None:
        """What the layers before these put out; None = they are on no other rank."""
        setup = self.setup
        if self._is_first:
            return None
        kind = next(self.model.parameters())
        shape = (tokens.shape[0], setup.spec.context, setup.spec.width)
        came = torch.empty(shape, dtype=kind.dtype, device=setup.device)
        with setup.communicating("forward"):
            dist.recv(came, setup.rank - 1)
        return came.requires_grad_()

    def reduce_gradients(self) -> None:
        """The average over the replicas."""
        self.average(self._shared)

    def _back(self, went: Tensor) -> Tensor:
        back = torch.empty_like(went, requires_grad=False, memory_format=torch.contiguous_format)
        self.setup.computing(BETWEEN_PASSES)
        with self.setup.communicating("backward"):
            dist.recv(back, self.setup.rank + 1)
        return back


class Halves(nn.Sequential):
    """The parts of a model in order, as many on each device as on the others."""

    def __init__(self, parts: Sequence[nn.Module], devices: Sequence[torch.device]) -> None:
        super().__init__(*parts)
        count = len(devices)
        self._devices = [devices[index * count // len(parts)] for index in range(len(parts))]
        for part, device in zip(self, self._devices, strict=True):
            part.to(device)

    def forward(self, x: Tensor) -> Tensor:
        for part, device in zip(self, self._devices, strict=True):
            x = part(x.to(device))
        return x
