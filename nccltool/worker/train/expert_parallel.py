"""The common part of strategies in which ranks share experts, and tokens travel to them and back."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nccltool.train.events import Routed
from nccltool.worker.train import experts
from nccltool.worker.train.experts import Expert, RoutedExperts
from nccltool.worker.train.strategies.base import DataParallel, Setup


class ExpertParallel(DataParallel):
    """Neighbours see the same tokens, or each rank has its own; the ranks of a group have all experts together."""

    HOLDS = "shards"
    ALIKE: ClassVar = 1
    """How many ranks see the same tokens."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, setup.rank // self.ALIKE, setup.world // self.ALIKE)
        self._layers: Sequence[RoutedExperts] = ()
        self._bounds: list[int] = []
        self.own: set[str] = set()
        """Names of the parameters of this rank's experts."""

    def share_experts(self, model: nn.Module, group: dist.ProcessGroup) -> None:
        """Leave this rank of the group its experts, and have tokens travel to those of the others."""
        rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        self._group, self._layers = group, experts.of(model)
        self._bounds = [self._layers[0].count * one // ranks for one in range(ranks + 1)]
        for layer in self._layers:
            mine = list(layer.each.items())[self._bounds[rank] : self._bounds[rank + 1]]
            layer.each = nn.ModuleDict(dict(mine))
            layer.process = partial(self._elsewhere, list(layer.each.values()))
            layer.routed = []
        self.own = {name for name, _ in model.named_parameters() if ".each." in name}

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        for layer in self._layers:
            layer.routed = []
        return super().forward_backward(tokens)

    def _elsewhere(self, mine: list[Expert], tokens: Tensor, counts: list[int]) -> Tensor:
        """What the experts make of this rank's tokens, on the ranks that have them."""
        group = self._group
        out = [sum(counts[first:end]) for first, end in pairwise(self._bounds)]
        came = self._told(torch.tensor(counts, device=tokens.device), len(mine))
        into = [sum(row) for row in came]
        here = _Travel.apply(tokens, out, into, group)
        parts = here.split([count for row in came for count in row])  # by rank, and of a rank by expert
        done = self.made(mine, [torch.cat(parts[at :: len(mine)]) for at in range(len(mine))])
        pieces = [made.split([row[at] for row in came]) for at, made in enumerate(done)]
        again = torch.cat([piece for of_rank in zip(*pieces, strict=True) for piece in of_rank])
        back: Tensor = _Travel.apply(again, into, out, group)
        return back

    def made(self, mine: Sequence[Expert], tokens: Sequence[Tensor]) -> list[Tensor]:
        """What each of these experts makes of its tokens."""
        return [expert(its) for expert, its in zip(mine, tokens, strict=True)]

    def _told(self, counts: Tensor, mine: int) -> list[list[int]]:
        """How many tokens come from each rank for each of the experts here."""
        lengths = [end - first for first, end in pairwise(self._bounds)]
        told = counts.new_zeros(len(lengths), mine)
        dist.all_to_all_single(told.view(-1), counts, [mine] * len(lengths), lengths, group=self._group)
        rows: list[list[int]] = told.tolist()
        return rows

    def advise(self, model: nn.Module, tie: float) -> None:
        """Rounding decides between experts that score alike, here and there: there, let it be as here."""
        mine = torch.stack([torch.stack(self._of_micro_batches(layer)) for layer in self._layers])
        everybodys = [torch.empty_like(mine) for _ in range(self.setup.world)]
        self.setup.group.guarded(partial(_gather, everybodys, mine))()
        for at, layer in enumerate(experts.of(model)):
            layer.advice = [batch for of_rank in everybodys[:: self.ALIKE] for batch in of_rank[at]]
            layer.tie = tie

    def _of_micro_batches(self, layer: RoutedExperts) -> list[Tensor]:
        """The choices of each, once: with activation checkpointing, a block makes them twice."""
        routed = layer.routed or []
        return routed[:: len(routed) // self.accumulate]

    def report(self) -> None:
        choices = sum(layer.choices for layer in self._layers)
        numbers = torch.cat([sum(layer.load for layer in self._layers), torch.tensor([choices])])
        self.setup.group.add_up(numbers := numbers.to(self.setup.device))
        if self.setup.rank == 0:
            *tokens, choices = (number // self.ALIKE for number in numbers.tolist())
            self.setup.channel.emit(Routed(strategy=self.setup.name, tokens=tuple(tokens), choices=choices))


def _gather(everybodys: list[Tensor], mine: Tensor) -> None:
    dist.all_gather(everybodys, mine)


class _Travel(torch.autograd.Function):
    """all_to_all of rows: so many to each rank, and so many from each; gradients travel back."""

    @staticmethod
    def forward(context: Any, rows: Tensor, out: list[int], into: list[int], group: dist.ProcessGroup) -> Tensor:
        context.way_back = (into, out, group)
        return _travelled(rows, out, into, group)

    @staticmethod
    def backward(context: Any, *came: Tensor) -> tuple[Tensor | None, ...]:
        return _travelled(came[0], *context.way_back), None, None, None


def _travelled(rows: Tensor, out: list[int], into: list[int], group: dist.ProcessGroup) -> Tensor:
    arrived = rows.new_empty(sum(into), rows.shape[1])
    dist.all_to_all_single(arrived, rows.contiguous(), into, out, group=group)
    return arrived
