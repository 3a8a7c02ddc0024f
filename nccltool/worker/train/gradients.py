"""Gradients between the backward pass and the update, on whatever ranks they are: their scale, and their norm.

In float16 small gradients would come out as zero, so the loss is scaled, and large ones overflow. As
torch.amp.GradScaler, but any gradient counts, also one that is spread over ranks in another way than its
neighbours, and all ranks agree: a step that overflows on one of them is left out by all.
"""

import math
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

INITIAL = 2.0**10
"""A power of two, so that nothing is rounded by it; what overflows halves it."""
GROWTH_STEPS = 2000
"""Steps without an overflow after which it is doubled; both as in GradScaler."""
_LEAST = 1e-6
"""As torch.nn.utils.clip_grad_norm_ adds to the norm."""


def of(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    """The gradients that there are."""
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def local(tensor: Tensor) -> Tensor:
    """What of a tensor is on this rank."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


class Scaler:
    """The scale of a loss, and whether the last step overflowed."""

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
            is_offloaded = gradient.device != found.device
            here = torch.zeros(1, device=gradient.device) if is_offloaded else found
            torch._amp_foreach_non_finite_check_and_unscale_([gradient], here, inverse.to(gradient.device))
            if is_offloaded:
                found.copy_(torch.maximum(found, here.to(found.device)))
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


def clip(parameters: Iterable[nn.Parameter], limit: float, holders: int, device: torch.device) -> None:
    """Scale the gradients in place so that the norm of all of them, on all ranks, is at most `limit`.

    `holders` ranks hold the same parameters before a DTensor's shares are taken into account; each counts once.
    """
    gradients = of(parameters)
    square = torch.zeros((), dtype=torch.float64, device=device)
    for gradient in gradients:
        copies = holders / _shares(gradient)
        square += (torch.linalg.vector_norm(local(gradient).double()) ** 2 / copies).to(device)
    dist.all_reduce(square)
    factor = min(1.0, limit / (math.sqrt(float(square)) + _LEAST))
    for gradient in gradients:
        local(gradient).mul_(factor)


def _shares(tensor: Tensor) -> int:
    """Into how many different parts a DTensor is cut."""
    if not hasattr(tensor, "placements"):
        return 1
    sizes = zip(tensor.placements, tensor.device_mesh.shape, strict=True)
    return math.prod(size for placement, size in sizes if not placement.is_replicate())
