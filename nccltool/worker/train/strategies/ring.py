"""Context parallelism around a ring: ranks share each sequence; keys and values go from rank to rank.

With n ranks that have T tokens each, keys and values are handed on n-1 times in each block, and in the backward
pass their gradients as often the other way: 2 x batch x heads x T x width numbers at a time. A rank never has all
tokens: what it has seen so far is scaled when a larger score comes (Milakov and Gimelshein 2018, Online normalizer
calculation for softmax; Liu and others 2023, Ring Attention).

A step of the default model on rank 0 of 4: 24 send, 1,572,864 bytes, and 24 recv, 1,572,864 bytes: in each of 4
blocks 3 forward and 3 backward, of keys and values together; 2 all_reduce, 939,524 bytes, of the
gradients and the loss.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from nccltool.train.strategies.ring import Options
from nccltool.worker.probe.comm import TorchComm
from nccltool.worker.train.strategies.base import Setup
from nccltool.worker.train.token_shares import TokenShares


class Training(TokenShares):
    COLLECTIVES: ClassVar = {
        "forward": "send_recv of keys and values",
        "backward": "send_recv of their gradients, all_reduce of the gradients",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._ring = TorchComm("sum", self.shared.group)
        self._prefetches = setup.spec.of(Options).prefetch

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Own tokens first, then those of the rank before this one, and so on around the ring."""
        ranks, rank = self.shared.ranks, self.shared.rank
        places = torch.arange(self.tokens, device=query.device)
        exact = torch.promote_types(query.dtype, torch.float32)
        top = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=exact, device=query.device)
        total, out = torch.zeros_like(top), torch.zeros_like(query, dtype=exact)
        pair = torch.stack((key, value))
        for step in range(ranks):
            following = _begun(pair, self._ring) if self._prefetches and step < ranks - 1 else None
            apart = (rank - step) % ranks * self.tokens - self.first  # from these keys to the queries
            is_later = places + apart > places[:, None]
            scores = (query @ pair[0].mT).to(exact) * query.shape[-1] ** -0.5
            scores = scores.masked_fill(is_later, -torch.inf)  # all of them, of ranks behind: that costs time only
            largest = torch.maximum(top, scores.detach().amax(-1, keepdim=True))
            weights, shrink = (scores - largest).exp(), (top - largest).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            out = out * shrink + (weights.to(pair.dtype) @ pair[1]).to(exact)
            top = largest
            if step < ranks - 1:
                pair = _Passed.apply(pair, self._ring, following)
        return (out / total).to(query.dtype)


class _Passed(torch.autograd.Function):
    """To the next rank, and from the one before; gradients go the other way."""

    @staticmethod
    def forward(context: Any, tensor: Tensor, ring: TorchComm, following: Callable[[], Tensor] | None) -> Tensor:
        """`following`: ends what was begun before."""
        context.ring = ring
        return (following or _begun(tensor, ring))()

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _begun(gradients[0], context.ring, -1)(), None, None


def _begun(tensor: Tensor, ring: TorchComm, by: int = 1) -> Callable[[], Tensor]:
    """What comes from the other side, when it is waited for."""
    sent = tensor.detach().contiguous()
    into = torch.empty_like(sent)
    works = ring.begin_exchange(sent, (ring.rank + by) % ring.world_size, into, (ring.rank - by) % ring.world_size)

    def ended() -> Tensor:
        for work in works:
            if work is not None:
                work.wait()
        return into

    return ended
