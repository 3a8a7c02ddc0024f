"""Low-rank adapters (LoRA): y = W x + b + B A x, where W and b stay as they are, and A and B are trained.

As in Hu and others 2021, sections 4.1 and 4.2: beside query and value, B begins with zeros, and alpha/r is 1.

A step of fsdp with the default model and --lora 4 on rank 0 of 4: 12 all_gather, 1,911,808 bytes, of all
parameters; 4 reduce_scatter, 16,384 bytes, of the gradients of adapters.
"""

import math

import torch
from torch import Tensor, nn

from nccltool.train.job import TrainSpec
from nccltool.train.strategies import fsdp


class AdaptedLinear(nn.Linear):
    """A linear layer with an adapter; its own parameters keep their names."""

    def __init__(self, frozen: nn.Linear, rank: int) -> None:
        super().__init__(frozen.in_features, frozen.out_features)
        self.weight, self.bias = frozen.weight, frozen.bias
        self.lora_a = nn.Parameter(torch.empty(rank, self.in_features))
        self.lora_b = nn.Parameter(torch.zeros(self.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))  # as nn.Linear does

    def forward(self, x: Tensor) -> Tensor:
        low = nn.functional.linear(x, self.lora_a)
        return super().forward(x) + nn.functional.linear(low, self.lora_b)


def adapt(model: nn.Sequential, spec: TrainSpec) -> None:
    """Freeze the model, and give each block its adapters, where they were asked for."""
    rank = spec.of(fsdp.Options).lora
    if not rank:
        return
    model.requires_grad_(False)
    for block in model[1:-1]:
        block.query, block.value = AdaptedLinear(block.query, rank), AdaptedLinear(block.value, rank)


def trained(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
