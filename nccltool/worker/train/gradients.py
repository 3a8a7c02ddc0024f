"""Gradients on whatever ranks they are: their scale, their norm, and how PowerSGD compresses them.

In float16 small gradients would come out as zero, so the loss is scaled, and large ones overflow. As
torch.amp.GradScaler, but any gradient counts, also one that is spread over ranks in another way than its
neighbours, and all ranks agree: a step that overflows on one of them is left out by all.

Of a matrix of gradients, PowerSGD has two thin ones travel; what their product does not have of it is kept, and
comes in later steps (error feedback). So it is no rounding: a step may be far from the exact one. The reference
therefore compresses too, with the same seed, in a group of one.
"""

import math
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

INITIAL = 2.0**10
"""A power of two, so that nothing is rounded by it; what overflows halves it."""
GROWTH_STEPS = 2000
"""Steps without an overflow after which it is doubled; both as in GradScaler."""
_LEAST = 1e-6
"""As torch.nn.utils.clip_grad_norm_ adds to the norm."""
_POWERSGD_RANK = 1
"""Of the thin matrices."""
_POWERSGD_FROM_STEP = 3
"""The first step that is compressed: torch wants two that are not, to begin from."""


def of(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def local(tensor: Tensor) -> Tensor:
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


def clip(held: Iterable[tuple[nn.Parameter, int]], limit: float, device: torch.device) -> None:
    """Scale the gradients in place so that the norm of all of them, on all ranks, is at most `limit`.

    `held`: with the number of ranks that hold the same parameter before a DTensor's shares are taken into account;
    each counts once.
    """
    gradients = [(parameter.grad, holders) for parameter, holders in held if parameter.grad is not None]
    square = torch.zeros((), dtype=torch.float64, device=device)
    for gradient, holders in gradients:
        copies = holders / _shares(gradient)
        square += (torch.linalg.vector_norm(local(gradient).double()) ** 2 / copies).to(device)
    dist.all_reduce(square)
    factor = min(1.0, limit / (math.sqrt(float(square)) + _LEAST))
    for gradient, _ in gradients:
        local(gradient).mul_(factor)


def _shares(tensor: Tensor) -> int:
    """Into how many different parts a DTensor is cut."""
    if not hasattr(tensor, "placements"):
        return 1
    sizes = zip(tensor.placements, tensor.device_mesh.shape, strict=True)
    return math.prod(size for placement, size in sizes if not placement.is_replicate())


def compress(ddp: DistributedDataParallel, group: dist.ProcessGroup | None) -> None:
    """Have a model's gradients travel compressed from now on."""
    state = powerSGD_hook.PowerSGDState(
        process_group=group, matrix_approximation_rank=_POWERSGD_RANK, start_powerSGD_iter=_POWERSGD_FROM_STEP - 1
    )
    is_gloo = dist.get_backend(group) == "gloo"
    ddp.register_comm_hook(state, _one_by_one if is_gloo else powerSGD_hook.powerSGD_hook)


def _one_by_one(state: powerSGD_hook.PowerSGDState, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """The hook, done when it returns.

    It makes its second and third call when the one before is done. On Gloo that is in a thread of its own, and
    calls of several buckets come in another order on each rank: sizes do not match, SIGABRT (torch 2.13).
    """
    done: torch.futures.Future[Tensor] = torch.futures.Future()
    done.set_result(powerSGD_hook.powerSGD_hook(state, bucket).wait())
    return done
