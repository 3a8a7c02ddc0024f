"""One process with several GPUs: copies between them, and replicas of nn.DataParallel one after the other."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor


def _scatter(
    tensor: Tensor, devices: Sequence[int], sizes: Any, dim: int, streams: Any = None
) -> tuple[Tensor, ...]:
    parts = tensor.split(list(sizes), dim) if sizes else tensor.chunk(len(devices), dim)
    return tuple(part.to(torch.device("cuda", device)) for part, device in zip(parts, devices, strict=False))


def _gather(tensors: Sequence[Tensor], dim: int, destination: int | None) -> Tensor:
    there = torch.device("cpu") if destination == -1 else torch.device("cuda", destination)
    return torch.cat([tensor.to(there) for tensor in tensors], dim)


def _broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[int], size: int) -> list[list[Tensor]]:
    return [[tensor.to(torch.device("cuda", device)) for tensor in tensors] for device in devices]


def _in_turn(modules: Any, inputs: Any, named: Any = None, devices: Any = None) -> list[Any]:
    """In threads of their own, operators would not be seen."""
    named = named or [{}] * len(modules)
    found = []
    for module, words, options, device in zip(modules, inputs, named, devices, strict=True):
        with torch.cuda.device(device):
            found.append(module(*words, **options))
    return found


def install() -> None:
    """What torch calls in C++ for it, and its threads."""
    inner: Any = torch._C
    inner._scatter, inner._gather, inner._broadcast_coalesced = _scatter, _gather, _broadcast_coalesced
    module: Any = import_module("torch.nn.parallel.data_parallel")
    module.parallel_apply = _in_turn
