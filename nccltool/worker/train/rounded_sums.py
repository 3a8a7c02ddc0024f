"""What torch's hooks do to gradients that travel in a short type, in one process.

Each rank rounds its gradient and divides it by the number of ranks, which takes small numbers out of float16's
range; that is the hook's own doing, and the reference does it too. What the backend then rounds while it adds up
depends on its order, and is left to the tolerance: here the sum is exact but for float32.
"""

import torch
from torch import Tensor, nn

from nccltool.train.strategies import ddp

_TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class RoundedSums:
    """Of the gradients of a model, rank by rank."""

    def __init__(self, model: nn.Module, dtype: torch.dtype, ranks: int) -> None:
        self._model, self._dtype, self._ranks = model, dtype, ranks
        self._sums: dict[nn.Parameter, Tensor] = {}

    @classmethod
    def of(cls, model: nn.Module, options: ddp.Options, ranks: int) -> "RoundedSums | None":
        """None where gradients travel as they are, or in another way."""
        dtype = _TYPES.get(options.comm_hook)
        return None if dtype is None else cls(model, dtype, ranks)

    def take(self) -> None:
        """What the model has now is the gradient of one rank."""
        for parameter in self._model.parameters():
            if parameter.grad is not None:
                part = parameter.grad.to(self._dtype).div_(self._ranks).to(parameter.dtype)
                there = self._sums.get(parameter)
                self._sums[parameter] = part if there is None else there.add_(part)
                parameter.grad = None

    def leave(self) -> None:
        """Have the model's gradient be that of all ranks."""
        for parameter, total in self._sums.items():
            parameter.grad = total
        self._sums = {}
