"""Context parallelism (Ulysses): ranks share each sequence; attention swaps tokens for heads."""

from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor

from nccltool.worker.train import transformer
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy


class Training(Strategy):
    COLLECTIVES: ClassVar = {
        "forward": "all_to_all of queries, keys, values and of what attention puts out",
        "backward": "all_to_all of their gradients, all_reduce of the gradients",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        spec, world = setup.spec, setup.world
        if spec.heads % world or spec.context % world:
            raise CannotTrain(f"{spec.heads} heads and {spec.context} tokens cannot be shared by {world} ranks")
        self._tokens = spec.context // world
        self.wrap_in_ddp()
        for part in self.model.children():
            if isinstance(part, transformer.Embed):
                part.first_place = setup.rank * self._tokens
            if isinstance(part, transformer.Block):
                part.attend = self._attend
        self.optimizer = self.sgd()

    def _attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """All tokens of some heads in place of some tokens of all heads."""
        world = self.setup.world
        whole = [_Swap.apply(part, 1, 2, world) for part in (query, key, value)]
        attended: Tensor = _Swap.apply(transformer.attend(*whole), 2, 1, world)
        return attended

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """This rank has its tokens of all sequences."""
        first = self.setup.rank * self._tokens
        mean = self.one_pass(tokens[:, first : first + self._tokens + 1]) / self.setup.world
        with self.setup.communicating("backward"):
            dist.all_reduce(mean)
        return {0: mean}


class _Swap(torch.autograd.Function):
    """all_to_all of (batch, heads, tokens, width): one dimension is shared out, another one becomes whole."""

    @staticmethod
    def forward(context: Any, tensor: Tensor, share: int, whole: int, world: int) -> Tensor:
        """`share` is cut into one part for each rank; what comes from the ranks is put together along `whole`."""
        context.way_back = (whole, share, world)
        return _swap(tensor, share, whole, world)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _swap(gradients[0], *context.way_back), None, None, None


def _swap(tensor: Tensor, share: int, whole: int, world: int) -> Tensor:
    out = torch.stack(tensor.chunk(world, dim=share)).contiguous()
    into = torch.empty_like(out)
    dist.all_to_all_single(into, out)
    return torch.cat(list(into), dim=whole)
