"""Clipping gradients by their norm: that of all of them, on whatever ranks they are."""

import math
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

_LEAST = 1e-6
"""As torch.nn.utils.clip_grad_norm_ adds to the norm."""


def clip(parameters: Iterable[nn.Parameter], limit: float, holders: int, device: torch.device) -> None:
    """Scale the gradients in place so that their norm is at most `limit`.

    `holders` ranks hold the same parameters before a DTensor's shares are taken into account; each counts once.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    square = torch.zeros((), dtype=torch.float64, device=device)
    for gradient in gradients:
        copies = holders / _shares(gradient)
        square += (torch.linalg.vector_norm(_local(gradient).double()) ** 2 / copies).to(device)
    dist.all_reduce(square)
    factor = min(1.0, limit / (math.sqrt(float(square)) + _LEAST))
    for gradient in gradients:
        _local(gradient).mul_(factor)


def _local(tensor: Tensor) -> Tensor:
    local: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return local


def _shares(tensor: Tensor) -> int:
    """Into how many different parts a DTensor is cut."""
    if not hasattr(tensor, "placements"):
        return 1
    sizes = zip(tensor.placements, tensor.device_mesh.shape, strict=True)
    return math.prod(size for placement, size in sizes if not placement.is_replicate())
