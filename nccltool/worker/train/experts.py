"""Experts instead of a block's feed-forward part: a router sends each token to the best few of them.

Without a capacity, nothing is dropped. With one, an expert takes only the first so many of its tokens in a
micro-batch; of the others, only the residual goes on. Both depend on the tokens of one micro-batch
alone, so a rank that has a part of the batch does what a single process does with that part.
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from nccltool.train.job import TrainSpec
from nccltool.train.strategies.base import ExpertOptions

Process = Callable[[Tensor, list[int]], Tensor]
"""What the experts make of tokens, which come ordered by expert; how many are for each."""


class Expert(nn.Module):
    """A feed-forward part."""

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(spec.width, 4 * spec.width), nn.Linear(4 * spec.width, spec.width)

    def forward(self, x: Tensor) -> Tensor:
        """(tokens, width) to the same."""
        y: Tensor = self.down(functional.gelu(self.up(x)))
        return y


class RoutedExperts(nn.Module):
    """A router and its experts, whose names are their numbers."""

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__()
        options = spec.of(ExpertOptions)
        self.count, self.top_k, self.capacity = spec.experts, options.top_k, options.capacity
        self.router = nn.Linear(spec.width, spec.experts, bias=False)
        self.each = nn.ModuleDict({str(number): Expert(spec) for number in range(spec.experts)})
        self.process: Process = self.all_here
        """Replaced where other ranks have some of the experts."""
        self.agree: Callable[[Tensor], None] = _alone
        """Replaced where other ranks see the same tokens: their choices must be the same."""
        self.routed: list[Tensor] | None = None
        """The choices of each call, where somebody wants them."""
        self.load = torch.zeros(spec.experts, dtype=torch.int64)
        """Tokens of each expert in these calls, without those that were dropped."""
        self.choices = 0
        """With those."""
        self.advice: list[Tensor] = []
        """Of the next calls: choices that decide ties."""
        self.tie = 0.0

    def forward(self, x: Tensor) -> Tensor:
        """(batch, context, width) to the same."""
        tokens = x.flatten(0, -2)
        gates, chosen = self._route(tokens)
        order = chosen.flatten().argsort(stable=True)  # choices by expert, and of an expert as the tokens come
        counts = chosen.flatten().bincount(minlength=self.count)
        if self.capacity is not None:
            order, counts = self._within_capacity(order, counts)
        if self.routed is not None:
            self.routed.append(chosen)
            self.load += counts.cpu()
            self.choices += chosen.numel()
        whose = order // self.top_k
        done = self.process(tokens[whose], counts.tolist()) * gates.flatten()[order, None]
        return torch.zeros_like(tokens, dtype=done.dtype).index_add(0, whose, done).to(x.dtype).view_as(x)

    def all_here(self, tokens: Tensor, counts: list[int]) -> Tensor:
        """Every expert is on this rank."""
        parts = tokens.split(counts)
        return torch.cat([expert(part) for expert, part in zip(self.each.values(), parts, strict=True)])

    def _route(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """(weight, number) of the experts of each token, in at least float32: a short type makes many ties."""
        with torch.autocast(tokens.device.type, enabled=False):
            exact = tokens.to(torch.promote_types(tokens.dtype, torch.float32))
            shares = self.router(exact).softmax(-1)
        chosen = shares.topk(self.top_k).indices
        if self.advice:
            chosen = _settled(shares, chosen, self.advice.pop(0), self.tie)
        self.agree(chosen)
        best = shares.gather(1, chosen)
        # the share itself where there is one, or the router would learn nothing (Switch, Fedus and others 2021)
        return best if self.top_k == 1 else best / best.sum(-1, keepdim=True), chosen

    def _within_capacity(self, order: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        most = math.ceil((self.capacity or 0) * len(order) / self.count)
        firsts = (counts.cumsum(0) - counts).repeat_interleave(counts)
        place = torch.arange(len(order), device=order.device) - firsts
        return order[place < most], counts.clamp(max=most)


def _alone(chosen: Tensor) -> None:
    """Nobody else sees the tokens."""


def _settled(shares: Tensor, chosen: Tensor, advised: Tensor, tie: float) -> Tensor:
    """`advised` for tokens whose choice rounding decides: where it is as good as the own one, but for `tie`."""
    distinct = advised.sort(-1).values.diff(dim=-1).ne(0).all(-1)
    there = ((advised >= 0) & (advised < shares.shape[-1])).all(-1)
    worst = shares.gather(1, advised.clamp(0, shares.shape[-1] - 1)).amin(-1)
    is_as_good = worst >= shares.gather(1, chosen).amin(-1) - tie
    return torch.where((distinct & there & is_as_good)[:, None], advised, chosen)


def of(model: nn.Module) -> Sequence[RoutedExperts]:
    """Those of all blocks."""
    return [module for module in model.modules() if isinstance(module, RoutedExperts)]
