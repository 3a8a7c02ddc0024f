"""Context parallelism as torch has it for GPUs: keys and values go round a ring."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.experimental._context_parallel import _attention as of_torch


def attention(mesh: DeviceMesh) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attention over the ranks of a mesh. Needs fake tensors: the operation inside exists on GPUs only."""
    of_torch._cp_options.rotate_method = of_torch._RotateMethod.ALL_TO_ALL

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        made: Tensor = _Ring.apply(query, key, value, mesh)
        return made

    return attend


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, query: Tensor, key: Tensor, value: Tensor, mesh: DeviceMesh) -> Tensor:
        found = of_torch._scaled_dot_product_ring_flash_attention(mesh, query, key, value, is_causal=True)
        made: Tensor = found[0].to(query.dtype)
        context.save_for_backward(query, key, value, made, found[1])
        context.mesh, context.tokens = mesh, query.shape[2]
        return made

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Any:
        query, key, value, made, sums = context.saved_tensors
        seed = torch.empty(2, dtype=torch.int64)
        found = of_torch._scaled_dot_product_ring_flash_attention_backward(
            context.mesh,
            gradients[0],
            *(query, key, value, made, sums),
            *(None, None, context.tokens, context.tokens),
            0.0,
            True,
            seed,
            seed,
        )
        return *(one.to(query.dtype) for one in found[:3]), None
