"""Expert parallelism: each rank has some experts of every block, a copy of all else, and its part of the batch.

Tokens go to the ranks of their experts and come back: in each block, one all_to_all of the lengths, one of the
tokens and one of what experts made of them, of (tokens of the rank) x top-k x width numbers each; two of the same
sizes carry the gradients. The parts are as uneven as the router's choices. DDP averages what all ranks have.
"""

from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nccltool.train.events import Routed
from nccltool.worker.train import experts, gradients
from nccltool.worker.train.experts import RoutedExperts
from nccltool.worker.train.replicas import Replicas
from nccltool.worker.train.strategies.base import DataParallel, Setup, in_ddp


class Training(DataParallel):
    COLLECTIVES: ClassVar = {
        "forward": "all_to_all of tokens to their experts and back",
        "backward": "all_to_all of their gradients, all_reduce of the gradients of all else",
        "averaging": "all_reduce of the gradients of experts between replicas",
    }
    HOLDS = "shards"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._shared = shared = Replicas(setup.device, setup.rank, setup.world, setup.sharing)
        model = self.whole_model()
        self._layers = experts.of(model)
        self._bounds = [self._layers[0].count * rank // shared.ranks for rank in range(shared.ranks + 1)]
        for layer in self._layers:
            mine = list(layer.each.items())[self._bounds[shared.rank] : self._bounds[shared.rank + 1]]
            layer.each = nn.ModuleDict(dict(mine))
            layer.process = partial(self._elsewhere, list(layer.each.values()))
            layer.routed = []
        self._own = {name for name, _ in model.named_parameters() if ".each." in name}
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, self._own)
        self.wrapper = ddp = in_ddp(model, setup.device)
        self.model = ddp.module
        self.optimizer = self.sgd()

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        for layer in self._layers:
            layer.routed = []
        return super().forward_backward(tokens)

    def _elsewhere(self, mine: list[nn.Module], tokens: Tensor, counts: list[int]) -> Tensor:
        """What the experts make of this rank's tokens, on the ranks that have them."""
        group, ends = self._shared.group, list(pairwise(self._bounds))
        out = [sum(counts[first:end]) for first, end in ends]
        came = self._told(torch.tensor(counts, device=tokens.device), len(mine))
        into = [sum(row) for row in came]
        here = _Travel.apply(tokens, out, into, group)
        parts = here.split([count for row in came for count in row])  # by rank, and of a rank by expert
        done = [expert(torch.cat(parts[at :: len(mine)])) for at, expert in enumerate(mine)]
        pieces = [made.split([row[at] for row in came]) for at, made in enumerate(done)]
        again = torch.cat([piece for of_rank in zip(*pieces, strict=True) for piece in of_rank])
        back: Tensor = _Travel.apply(again, into, out, group)
        return back

    def _told(self, counts: Tensor, mine: int) -> list[list[int]]:
        """How many tokens come from each rank for each of the experts here."""
        told = counts.new_zeros(self._shared.ranks, mine)
        lengths = [end - first for first, end in pairwise(self._bounds)]
        dist.all_to_all_single(
            told.view(-1), counts, [mine] * self._shared.ranks, lengths, group=self._shared.group
        )
        rows: list[list[int]] = told.tolist()
        return rows

    def reduce_gradients(self) -> None:
        """An expert has the gradients of the losses of all ranks of its replica, added up."""
        own = gradients.of(parameter for name, parameter in self.named_parameters() if name in self._own)
        with self.setup.communicating("averaging"):
            for gradient in own:
                gradient.div_(self._shared.ranks)
            self._shared.average(own)

    def clip(self, limit: float) -> None:
        """As many ranks hold an expert as there are replicas; all hold everything else."""
        counts = {True: self._shared.count, False: self.setup.world}
        held = ((parameter, counts[name in self._own]) for name, parameter in self.named_parameters())
        gradients.clip(held, limit, self.setup.device)

    def advise(self, model: nn.Module, tie: float) -> None:
        """Rounding decides between experts that score alike, here and there: there, let it be as here."""
        mine = torch.stack([torch.stack(self._of_micro_batches(layer)) for layer in self._layers])
        everybodys = [torch.empty_like(mine) for _ in range(self.setup.world)]
        self.setup.group.guarded(partial(_gather, everybodys, mine))()
        for at, layer in enumerate(experts.of(model)):
            layer.advice, layer.tie = [batch for of_rank in everybodys for batch in of_rank[at]], tie

    def _of_micro_batches(self, layer: RoutedExperts) -> list[Tensor]:
        """The choices of each, once: with activation checkpointing, a block makes them twice."""
        routed = layer.routed or []
        return routed[:: len(routed) // self.accumulate]

    def report(self) -> None:
        choices = sum(layer.choices for layer in self._layers)
        numbers = torch.cat([sum(layer.load for layer in self._layers), torch.tensor([choices])])
        self.setup.group.add_up(numbers := numbers.to(self.setup.device))
        if self.setup.rank == 0:
            *tokens, choices = numbers.tolist()
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
