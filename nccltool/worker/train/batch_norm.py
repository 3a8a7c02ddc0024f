"""SyncBatchNorm: batch norm of token vectors over the batches of all ranks.

torch's own does the same on GPUs only: it refuses tensors on CPUs (torch 2.13). Here two all_reduce calls give the
mean of all tokens and their mean squared distance from it; the backward pass of each is one of gradients.
So a rank makes 4 calls for each norm and micro-batch, 2 forward and 2 backward.
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce


class TokenNorm(nn.Module):
    """In the place of a layer norm. Every rank, and one process alone, begins with the plain batch norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of: nn.Module = nn.BatchNorm1d(width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, context, width), in and out."""
        normed: Tensor = self.of(x.flatten(0, 1)).view_as(x)
        return normed


class _OnCpu(nn.BatchNorm1d):
    def forward(self, x: Tensor) -> Tensor:
        """(tokens, width), as many on each rank."""
        x, world = x.to(self.weight.dtype), dist.get_world_size()
        mean = all_reduce(x.mean(0)) / world
        variance = all_reduce((x - mean).square().mean(0)) / world
        with torch.no_grad():
            tokens = len(x) * world
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * tokens / (tokens - 1), self.momentum)
            self.num_batches_tracked.add_(1)
        return (x - mean) * (variance + self.eps).rsqrt() * self.weight + self.bias


def synchronized(model: nn.Sequential, device: torch.device) -> nn.Sequential:
    """The model, whose batch norms are those of all ranks from now on."""
    if device.type != "cpu":
        converted: nn.Sequential = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        return converted
    for part in model.modules():
        if isinstance(part, TokenNorm):
            plain, part.of = part.of, _OnCpu(part.of.num_features).to(part.of.weight.dtype)
            part.of.load_state_dict(plain.state_dict())
    return model
