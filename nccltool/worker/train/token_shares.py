"""The common part of strategies in which each rank of a replica has some tokens of every sequence."""

from typing import ClassVar

import torch.distributed as dist
from torch import Tensor

from nccltool.worker.train import transformer
from nccltool.worker.train.strategies.base import Setup, Strategy


class TokenShares(Strategy):
    """Only attention needs the tokens of others: what a strategy has in its place is its `attend`."""

    COLLECTIVES: ClassVar = {"backward": "all_reduce of the gradients"}

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.shared = self.share()
        self.tokens = setup.spec.context // self.shared.ranks
        self.first = self.shared.rank * self.tokens
        self.wrap_in_ddp()  # all ranks together: each has its tokens of its replica's part of the batch
        for part in self.model.children():
            if isinstance(part, transformer.Embed):
                part.first_place = self.first
            if isinstance(part, transformer.Block):
                part.attend = self.attend
        self.optimizer = self.sgd()

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """What each token of this rank takes from all before it; all are (batch, heads, tokens, width)."""
        raise NotImplementedError

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """This rank has its tokens of all sequences."""
        mine = self.my_part(tokens)[:, self.first : self.first + self.tokens + 1]
        mean = self.one_pass(mine) / self.shared.ranks
        with self.setup.communicating("backward"):
            dist.all_reduce(mean, group=self.shared.group)
        return {self.replica: mean}
