"""AdamW instead of SGD, and a learning rate that warms up linearly and then falls like a cosine.

The steps of ranks are those of torch's schedulers; the reference has the formula: r t/w in step t of the first w,
and then r (1 + cos(pi (t - w - 1)/(T - w)))/2 until step T (Loshchilov and Hutter 2017, SGDR, equation 5).

AdamW divides a gradient by its own size, so one that is only rounding makes a step as large as any, in a random
direction: the bias of a key is such a parameter, as softmax does not depend on it. Therefore the
reference takes over each gradient once it has been found equal, and updates can be compared as closely as others.
"""

import math

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler, SequentialLR

from nccltool.train.job import TrainSpec
from nccltool.train.strategies.base import OptimizerOptions
from nccltool.worker.train import lora


def is_asked_for(spec: TrainSpec) -> bool:
    return spec.of(OptimizerOptions).adamw


def optimizer(spec: TrainSpec, model: nn.Module) -> AdamW:
    return AdamW(lora.trained(model), lr=spec.learning_rate)


def schedule(spec: TrainSpec, optimizer: Optimizer) -> LRScheduler | None:
    """To be stepped after each update; None = the learning rate stays as it is."""
    warm_up = spec.of(OptimizerOptions).lr_warmup
    if not warm_up:
        return None
    linear = LinearLR(optimizer, start_factor=1 / warm_up, total_iters=max(warm_up - 1, 1))
    cosine = CosineAnnealingLR(optimizer, T_max=spec.steps - warm_up)
    return SequentialLR(optimizer, [linear, cosine], milestones=[warm_up])


def learning_rate(spec: TrainSpec, number: int) -> float:
    """Of an update, counted from 1."""
    warm_up = spec.of(OptimizerOptions).lr_warmup
    if not warm_up:
        return spec.learning_rate
    if number <= warm_up:
        return spec.learning_rate * number / warm_up
    done = (number - warm_up - 1) / (spec.steps - warm_up)
    return spec.learning_rate * (1 + math.cos(math.pi * done)) / 2
