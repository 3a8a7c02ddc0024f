"""The scale of a loss in float16: small gradients would come out as zero, large ones overflow.

As torch.amp.GradScaler, but any gradient counts, also one that is spread over ranks in another way than its
neighbours, and all ranks agree: a step that overflows on one of them is left out by all.
"""

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor

INITIAL = 2.0**10
"""A power of two, so that nothing is rounded by it; what overflows halves it."""
GROWTH_STEPS = 2000
"""Steps without an overflow after which it is doubled; both as in GradScaler."""


class Scaler:
    """The scale, and whether the last step overflowed."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.scale = INITIAL
        self.overflowed = False
        self.good_steps = 0

    def unscale(self, gradients: Iterable[Tensor], together: bool = True) -> None:
        """Take the scale out of the gradients in place, and agree with all ranks whether one overflowed."""
        found = torch.zeros(1, device=self._device)
        inverse = torch.ones(1, device=self._device) / self.scale
        for gradient in gradients:
            _unscale(gradient, found, inverse)
        if together:
            dist.all_reduce(found, dist.ReduceOp.MAX)
        self.overflowed = bool(found.item())

    def adapt(self) -> None:
        """After a step: a smaller scale when it overflowed, a larger one when none did for long."""
        self.good_steps = 0 if self.overflowed else self.good_steps + 1
        if self.overflowed:
            self.scale /= 2
        elif self.good_steps % GROWTH_STEPS == 0:
            self.scale *= 2


def _unscale(gradient: Tensor, found: Tensor, inverse: Tensor) -> None:
    if gradient.device == found.device:
        torch._amp_foreach_non_finite_check_and_unscale_([gradient], found, inverse)
        return
    elsewhere = torch.zeros(1, device=gradient.device)  # offloaded
    torch._amp_foreach_non_finite_check_and_unscale_([gradient], elsewhere, inverse.to(gradient.device))
    found.copy_(torch.maximum(found, elsewhere.to(found.device)))
