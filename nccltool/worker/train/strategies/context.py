"""Context parallelism (Ulysses): ranks share each sequence; attention swaps tokens for heads.

A step of the default model on rank 0 of 4: 32 all_to_all, 1,048,576 bytes: 4 forward and 4 backward
in each of 4 blocks, of a fourth of the tokens; 2 all_reduce, 939,524 bytes, of the gradients and the loss.
"""

from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor

from nccltool.worker.train import transformer
from nccltool.worker.train.strategies.base import Setup
from nccltool.worker.train.token_shares import TokenShares


class Training(TokenShares):
    COLLECTIVES: ClassVar = {
        "forward": "all_to_all of queries, keys, values, and attention outputs",
        "backward": "all_to_all of their gradients, all_reduce of the gradients",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._group = self.shared.group

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """All tokens of some heads in place of some tokens of all heads."""
        whole = [_Swap.apply(part, 1, 2, self._group) for part in (query, key, value)]
        attended: Tensor = _Swap.apply(transformer.attend(*whole), 2, 1, self._group)
        return attended


class _Swap(torch.autograd.Function):
    """all_to_all of (batch, heads, tokens, width): one dimension is shared out, another one becomes whole."""

    @staticmethod
    def forward(context: Any, tensor: Tensor, share: int, whole: int, group: dist.ProcessGroup) -> Tensor:
        """`share` is cut into one part for each rank; what comes from the ranks is put together along `whole`."""
        context.way_back = (whole, share, group)
        return _swap(tensor, share, whole, group)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _swap(gradients[0], *context.way_back), None, None, None


def _swap(tensor: Tensor, share: int, whole: int, group: dist.ProcessGroup) -> Tensor:
    out = torch.stack(tensor.chunk(group.size(), dim=share)).contiguous()
    into = torch.empty_like(out)
    dist.all_to_all_single(into, out, group=group)
    return torch.cat(list(into), dim=whole)
