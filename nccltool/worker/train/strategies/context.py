"""Context parallelism (Ulysses): ranks share each sequence; attention swaps tokens for heads."""

from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor

from nccltool.worker.train import transformer
from nccltool.worker.train.strategies.base import Setup, Strategy


class Training(Strategy):
    COLLECTIVES: ClassVar = {
        "forward": "all_to_all of queries, keys, values, and attention outputs",
        "backward": "all_to_all of their gradients, all_reduce of the gradients",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._shared = self.share()
        self._tokens = setup.spec.context // self._shared.ranks
        self._first = self._shared.rank * self._tokens
        self.wrap_in_ddp()  # all ranks together: each has its tokens of its replica's part of the batch
        for part in self.model.children():
            if isinstance(part, transformer.Embed):
                part.first_place = self._first
            if isinstance(part, transformer.Block):
                part.attend = self._attend
        self.optimizer = self.sgd()

    def _attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """All tokens of some heads in place of some tokens of all heads."""
        group = self._shared.group
        whole = [_Swap.apply(part, 1, 2, group) for part in (query, key, value)]
        attended: Tensor = _Swap.apply(transformer.attend(*whole), 2, 1, group)
        return attended

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """This rank has its tokens of all sequences."""
        mine = self.my_part(tokens)[:, self._first : self._first + self._tokens + 1]
        mean = self.one_pass(mine) / self._shared.ranks
        with self.setup.communicating("backward"):
            dist.all_reduce(mean, group=self._shared.group)
        return {self.replica: mean}


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
