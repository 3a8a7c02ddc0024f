"""Compressed gradients: how ranks exchange them, and the same rank by rank in one process.

Each rank packs its gradient into bytes, all_gather hands them around, and every rank adds up what it unpacks in
the order of the ranks: all have the same bits. A form with feedback adds what was left out of a gradient to the
next one (Seide and others 2014, 1-Bit Stochastic Gradient Descent).

Both sides use the same form, so a fault in it would not show between them. Therefore the distance from the exact
average is compared too, with what the form may leave out at most: |mean of unpacked - mean of g| is at most the
mean over ranks of |g - unpacked| (triangle inequality).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nccltool.worker.train import int8, top_k

_all_gather: Any = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


class Form(Protocol):
    """How a gradient becomes bytes, as many for each of its shape."""

    FEEDBACK: ClassVar[bool]

    def pack(self, gradient: Tensor, theirs: Tensor | None = None, slack: float = 0.0) -> Tensor:
        """`theirs`: what another process packed of the same gradient, which roundings changed by `slack` of its
        largest element; where that leaves the choice open, it is theirs."""
        ...

    def unpack(self, packed: Tensor, like: Tensor) -> Tensor: ...

    def bound(self, gradient: Tensor) -> Tensor:
        """The square of the norm of what `pack` leaves out, at most."""
        ...


FORMS: Mapping[str, Form] = {"topk": top_k.TopK(), "int8": int8.Int8()}


class Compression:
    """Of the gradients of this rank."""

    def __init__(self, form: Form, world: int) -> None:
        self._form, self._world = form, world
        self.residuals: dict[Tensor, Tensor] = {}
        """What was left out of the gradient of each parameter."""
        self.sent: dict[Tensor, Tensor] = {}
        """What all ranks packed of it last, a row each."""

    def average(self, parameters: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        """Put the average over the ranks in the place of each gradient."""
        if self._form.FEEDBACK:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                gradient.add_(self.residuals.get(parameter, torch.zeros_like(gradient)))
        packed = [self._form.pack(gradient) for gradient in gradients]
        mine = torch.cat(packed)
        everybodys = mine.new_empty(self._world * len(mine))
        _all_gather(everybodys, mine)
        rows = everybodys.view(self._world, -1).split([len(one) for one in packed], 1)
        for parameter, gradient, own, sent in zip(parameters, gradients, packed, rows, strict=True):
            if self._form.FEEDBACK:
                self.residuals[parameter] = gradient - self._form.unpack(own, gradient)
            self.sent[parameter] = sent.clone()
            gradient.copy_(sum(self._form.unpack(row.clone(), gradient) for row in sent) / self._world)


def exchange(state: Compression, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """The hook for DDP; done when it returns, so that buckets are sent in one order on all ranks."""
    state.average(bucket.parameters(), bucket.gradients())
    done: torch.futures.Future[Tensor] = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


@dataclass(frozen=True, slots=True)
class LostShare:
    """How far a compressed average is from the exact one, and may be, relative to the norm of what was packed."""

    error: float
    bound: float


class CompressedSums:
    """Of the gradients of a model, rank by rank, in one process."""

    def __init__(self, model: nn.Module, form: Form, ranks: int) -> None:
        self._model, self._form, self._ranks = model, form, ranks
        self._residuals: list[dict[Tensor, Tensor]] = [{} for _ in range(ranks)]
        self._sums: dict[Tensor, Tensor] = {}
        self._exact: dict[Tensor, Tensor] = {}
        self._means: dict[Tensor, Tensor] = {}
        """Of exact gradients, in the last step."""
        self._squares: list[Tensor] = []
        self._taken: list[Tensor] = []
        """Of each rank the square of its norm, and of what may be left out; the latter of the last step."""
        self._sent: Mapping[Tensor, Tensor] = {}
        self._slack = 0.0

    def follow(self, sent: Mapping[Tensor, Tensor], slack: float) -> None:
        """What the ranks packed of each parameter of this model: of two choices that roundings leave open, take
        theirs."""
        self._sent, self._slack = sent, slack

    def take(self) -> None:
        """What the model has now is the gradient of one rank."""
        rank = len(self._squares)
        squares = torch.zeros(2, dtype=torch.float64)
        for parameter in self._model.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if parameter in self._residuals[rank]:
                gradient.add_(self._residuals[rank][parameter])
            theirs = self._sent.get(parameter)
            packed = self._form.pack(gradient, None if theirs is None else theirs[rank].clone(), self._slack)
            kept = self._form.unpack(packed, gradient)
            if self._form.FEEDBACK:
                self._residuals[rank][parameter] = gradient - kept
            squares += torch.stack([gradient.double().square().sum(), self._form.bound(gradient).double()]).cpu()
            _add(self._sums, parameter, kept)
            _add(self._exact, parameter, gradient)
            parameter.grad = None
        self._squares.append(squares)

    def leave(self) -> None:
        """Have the model's gradient be the average over all ranks."""
        for parameter in self._model.parameters():
            if parameter in self._sums:
                parameter.grad = self._sums[parameter] / self._ranks
        self._sums, self._taken, self._squares = {}, self._squares, []
        self._means, self._exact = {p: total / self._ranks for p, total in self._exact.items()}, {}

    def residuals(self, rank: int) -> Mapping[Tensor, Tensor]:
        """What was left out of the gradients of a rank so far."""
        return self._residuals[rank]

    def loss(self, gradients: Iterable[tuple[Tensor, Tensor]], scale: float) -> LostShare:
        """Of what the ranks hold as the average, by parameter of this model; `scale` has been taken out of it."""
        apart = sum(
            float((mine.double() - self._means[p].double() / scale).square().sum()) for p, mine in gradients
        )
        lengths, bounds = torch.stack(self._taken).sqrt().mean(0).div(scale).tolist()
        return LostShare(math.sqrt(apart) / (lengths or 1.0), bounds / (lengths or 1.0))


def _add(sums: dict[Tensor, Tensor], parameter: Tensor, part: Tensor) -> None:
    there = sums.get(parameter)
    sums[parameter] = part.clone() if there is None else there.add_(part)
