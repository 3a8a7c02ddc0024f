"""The reference of the smoke training runs: the same model on the same global batch in one process.

Every rank computes it by itself, so that no link and no collective can make it agree with what is wrong. What is
approximate by design (compression of gradients) is done here as well.
"""

import contextlib
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nccltool.train.strategies import ddp
from nccltool.train.tolerance import SHARE, SHARE_ERRORS, Tolerance
from nccltool.worker.train import adamw, compression, gradients, held_out, transformer
from nccltool.worker.train.compression import CompressedSums
from nccltool.worker.train.gradients import Scaler, local
from nccltool.worker.train.rounded_sums import RoundedSums
from nccltool.worker.train.shares import GradientColumns, Weights, explained
from nccltool.worker.train.strategies.base import Setup, Strategy, in_ddp


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorDifference:
    """How far a quantity of this rank is from the reference, relative to the reference."""

    what: str
    """parameters (before the step's update), loss, gradient, noise, share, compression, state, or update (the
    parameters after it)."""
    got: float
    expected: float
    """Of gradients and parameters: their norms."""
    error: float
    tolerance: float

    @property
    def is_wrong(self) -> bool:
        """Also when it is no number."""
        return not self.error <= self.tolerance


class _Watched:
    """The gradient of each micro-batch, from how it changes the sum of those before it."""

    def __init__(self, reference: "Reference", strategy: Strategy, micro_batches: int, factor: float) -> None:
        self._strategy, self._factor = strategy, factor
        self._pairs = list(reference.pairs(strategy))
        elements = sum(local(mine).numel() for mine, _ in self._pairs)
        self.columns = GradientColumns(elements, micro_batches, strategy.setup.device)
        self._before: Tensor | None = None

    def take(self, begins_anew: bool) -> None:
        """`begins_anew`: the next is not added to this one."""
        parts = (_part(self._strategy, _gradient(own), mine) for mine, own in self._pairs)
        now = self.columns.sample(parts)
        self.columns.add((now if self._before is None else now - self._before) * self._factor)
        self._before = None if begins_anew else now


class Reference:
    """One process that trains alone."""

    def __init__(self, setup: Setup, micro_batches: int, tolerance: Tolerance) -> None:
        self._setup, self._micro_batches, self._tolerance = setup, micro_batches, tolerance
        self.model = transformer.make(replace(setup.spec, recompute=False)).to(setup.device)
        self._is_adamw = adamw.is_asked_for(setup.spec)
        make = adamw.optimizer if self._is_adamw else transformer.sgd
        self._optimizer: torch.optim.Optimizer = make(setup.spec, self.model)
        self._updates = 0
        self._compressed = _compressed(self.model, setup)
        options = setup.spec.of(ddp.Options)
        self._rounded = _sums(self.model, options, setup.world)
        self._of_rank = options.accumulate if self._rounded else micro_batches
        """How many micro-batches are added up as they are."""
        self._columns: GradientColumns | None = None
        self._is_batch_normed = options.sync_batch_norm

    def forward_backward(self, tokens: Tensor, scale: float = 1.0, of: Strategy | None = None) -> list[float]:
        """The losses of the micro-batches; the gradients are added up in their order.

        `scale` is that of the loss in the backward pass, a power of two: what it loses, it must lose here too.
        `of`: whose share each micro-batch has in it will be asked.
        """
        self._optimizer.zero_grad()
        parts, rounded = tokens.chunk(self._micro_batches), self._rounded
        if self._is_batch_normed:
            return self._of_all_ranks(parts, scale)
        ranks = self._setup.world if rounded else 1
        watched = None if of is None else _Watched(self, of, self._micro_batches, 1 / scale / ranks)
        losses = []
        for index, part in enumerate(parts):
            losses.append(self._one(part, scale * ranks, index == len(parts) - 1))
            is_last = (index + 1) % self._of_rank == 0
            if watched is not None:
                watched.take(is_last)
            if rounded and is_last:
                rounded.take()
        if rounded:
            rounded.leave()
        for gradient in self._gradients():
            gradient.mul_(1 / scale)
        self._columns = watched.columns if watched else None
        return losses

    def share(self, strategy: Strategy) -> tuple[TensorDifference, list[float]] | None:
        """Of the gradients that `forward_backward` has watched: the weight that is furthest off, and all of them.
        None where they cannot be told."""
        overflowed = strategy.scaler is not None and strategy.scaler.overflowed
        if self._columns is None or overflowed:
            return None
        mine = self._columns.sample(_gradient(p) for p, _ in self.pairs(strategy))
        found = self._columns.weights(mine, each_row_alike=True)
        if found is None:
            return None
        rows = [(w, SHARE + SHARE_ERRORS * error) for w, error in zip(found.values, found.errors, strict=True)]
        weight, allowed = max(rows, key=lambda row: abs(row[0] - 1) / row[1])
        difference = TensorDifference(
            what="share", got=weight, expected=1.0, error=abs(weight - 1), tolerance=allowed
        )
        return difference, list(found.values)

    def follow(self, strategy: Strategy, number: int) -> None:
        """Before `forward_backward`: where roundings leave open what is sent of a gradient, do as the ranks do."""
        if isinstance(self._rounded, CompressedSums) and strategy.compression is not None:
            sent = strategy.compression.sent
            theirs = {own: sent[mine] for mine, own in self.pairs(strategy) if mine in sent}
            self._rounded.follow(theirs, self._tolerance.at(number))

    def compression(self, strategy: Strategy, number: int) -> TensorDifference | None:
        """What compression lost of the average gradient, beside what it may lose; None = nothing is compressed."""
        overflowed = strategy.scaler is not None and strategy.scaler.overflowed
        if not isinstance(self._rounded, CompressedSums) or overflowed:
            return None
        scale = 1.0 if strategy.scaler is None else strategy.scaler.scale
        loss = self._rounded.loss(((own, _gradient(mine)) for mine, own in self.pairs(strategy)), scale)
        return TensorDifference(
            what="compression",
            got=loss.error,
            expected=loss.bound,
            error=loss.error,
            tolerance=loss.bound + self._tolerance.at(number),
        )

    def state(self, strategy: Strategy, number: int) -> TensorDifference | None:
        """Of what this rank carries to the next step; None where that is nothing."""
        carried = strategy.carried()
        if not carried:
            return None
        own = dict(self.model.named_buffers())
        if isinstance(self._rounded, CompressedSums):
            residuals = self._rounded.residuals(self._setup.rank)
            own |= {name: residuals[p] for name, p in self.model.named_parameters() if p in residuals}
        found = [(mine, own[name]) for name, mine in carried.items()]
        return _compared("state", found, self._tolerance.at(number))

    def _one(self, part: Tensor, scale: float, is_last: bool = False) -> float:
        model, wrapped = self.model, self._compressed
        with contextlib.nullcontext() if wrapped is None or is_last else wrapped.no_sync():
            losses = []
            for piece in part.chunk(self._setup.cut):
                with self._setup.lower():
                    scores = transformer.scores_in(self._setup.param_dtype, wrapped or model, piece[:, :-1])
                    loss = transformer.loss_of(scores, piece[:, 1:])
                (loss / self._setup.cut / self._micro_batches * scale).backward()
                losses.append(loss.detach())
        value = float(torch.stack(losses).mean())  # waits for a device, so that a tick is work that is done
        self._setup.slot.tick()
        return value

    def _of_all_ranks(self, parts: Sequence[Tensor], scale: float) -> list[float]:
        """As `forward_backward`: what ranks compute at a time is normed together, so it is computed together."""
        losses, passes = [0.0] * len(parts), self._setup.spec.of(ddp.Options).accumulate
        for first in range(passes):
            mine = torch.cat(parts[first::passes])
            with self._setup.lower():
                scores = self.model(mine[:, :-1]).chunk(self._setup.world)
                each = [
                    transformer.loss_of(*one)
                    for one in zip(scores, mine[:, 1:].chunk(self._setup.world), strict=True)
                ]
            (torch.stack(each).sum() / self._micro_batches * scale).backward()
            losses[first::passes] = [float(loss.detach()) for loss in each]
            self._setup.slot.tick()
        for gradient in self._gradients():
            gradient.mul_(1 / scale)
        return losses

    def first_ns(self, tokens: Tensor) -> int:
        """How long one micro-batch takes; leaves no trace."""
        before = [buffer.clone() for buffer in self.model.buffers()]
        begin = time.perf_counter_ns()
        self._one(tokens.chunk(self._micro_batches)[0], 1.0)
        self._setup.group.settle()
        took = time.perf_counter_ns() - begin
        self._optimizer.zero_grad()
        for buffer, value in zip(self.model.buffers(), before, strict=True):
            buffer.copy_(value)
        return took

    def update(self) -> None:
        """Change the parameters, unless a gradient overflowed."""
        if self._setup.is_half and not self._is_finite():
            return
        if self._setup.spec.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self._setup.spec.clip_norm)
        self._updates += 1
        for group in self._optimizer.param_groups:
            group["lr"] = adamw.learning_rate(self._setup.spec, self._updates)
        self._optimizer.step()

    def catch_up(self, tokens: Tensor, scaler: Scaler | None) -> None:
        """A step that nobody compares: the ranks did it before they were started."""
        self.forward_backward(tokens, 1.0 if scaler is None else scaler.scale)
        if scaler is not None:
            scaler.overflowed = not self._is_finite()
            scaler.adapt()
        self.update()

    def _is_finite(self) -> bool:
        return all(bool(gradient.isfinite().all()) for gradient in self._gradients())

    def _gradients(self) -> list[Tensor]:
        return gradients.of(self.model.parameters())

    def gradient_norm(self) -> float:
        return _norm(self._gradients())

    def micro_batch_norm(self, square: float, scale: float) -> float:
        """Root mean square, from what the passes of `forward_backward` computed."""
        return math.sqrt(square * self._micro_batches) / scale

    def validation_loss(self) -> float:
        """The mean over all held-out sequences."""
        spec, model, device = self._setup.spec, self.model, self._setup.device
        batches = held_out.tokens(spec).to(device).split(spec.batch)
        with self._setup.lower():
            sums = held_out.summed(batches, lambda i: transformer.scores_in(self._setup.param_dtype, model, i))
        return float(sums[0] / sums[1])

    def micro_batches(self, got: float, expected: float, number: int) -> TensorDifference:
        """Of the root mean squares of their gradients' norms."""
        return _difference("noise", got, expected, self._tolerance.at(number))

    def losses(self, strategy: dict[int, float], mine: list[float], number: int) -> TensorDifference:
        """The loss that is furthest away, of the micro-batches that this rank saw."""
        tolerance = self._tolerance.at(number)
        found = [_difference("loss", got, mine[index], tolerance) for index, got in strategy.items()]
        return max(found, key=_badness, default=_difference("loss", 0.0, 0.0, tolerance))

    def gradients(self, strategy: Strategy, number: int) -> TensorDifference:
        """Of what this rank holds of the gradients; what overflowed must have done so here too."""
        if strategy.scaler is not None and strategy.scaler.overflowed:
            return TensorDifference(
                what="gradient",
                got=math.inf,
                expected=self.gradient_norm(),
                error=math.inf if self._is_finite() else 0.0,
                tolerance=self._tolerance.at(number),
            )
        pairs = self.pairs(strategy)
        with torch.no_grad():
            found = [(_gradient(mine), _part(strategy, _gradient(own), mine)) for mine, own in pairs]
            return _compared("gradient", found, self._tolerance.at(number))

    def take_over(self, strategy: Strategy) -> None:
        """Under AdamW: the strategy's gradients, as far as this rank holds them."""
        for mine, own in self.pairs(strategy) if self._is_adamw else ():
            if mine.grad is not None and own.grad is not None:
                strategy.same_part(own.grad, mine).copy_(local(mine.grad))

    def parameters(self, strategy: Strategy, number: int, what: str) -> TensorDifference:
        """Of what this rank holds of the trained parameters: before the update, or after it."""
        pairs = [(mine, own) for mine, own in self.pairs(strategy) if own.requires_grad]
        with torch.no_grad():  # the parts of DTensors are then no operations of autograd
            found = [(local(mine), _part(strategy, own, mine)) for mine, own in pairs]
            return _compared(what, found, self._tolerance.at(number))

    def frozen(self, strategy: Strategy) -> list[TensorDifference]:
        """How many numbers changed that must stay as they are, to the last bit; nothing where all are trained."""
        pairs = [(mine, own) for mine, own in self.pairs(strategy) if not own.requires_grad]
        changed = float(sum(int((local(mine) != _part(strategy, own, mine)).sum()) for mine, own in pairs))
        return [
            TensorDifference(what="frozen", got=changed, expected=0.0, error=changed, tolerance=0.0)
            for _ in pairs[:1]
        ]

    def pairs(self, strategy: Strategy) -> Iterator[tuple[Tensor, Tensor]]:
        own = dict(self.model.named_parameters())
        for name, mine in strategy.named_parameters():
            yield mine, own[name]

    def shares(self, strategy: Strategy, tokens: Tensor, number: int) -> list[float] | None:
        """With which weight each micro-batch is in the gradient that this rank holds; all are 1 when all is well.

        None when no weights explain it: then it was damaged, not put together wrongly; and where it was
        compressed. To be asked before `update`; what the reference holds of gradients is lost.
        """
        if self._compressed is not None or isinstance(self._rounded, CompressedSums) or self._is_batch_normed:
            return None
        pairs = list(self.pairs(strategy))
        mine = [_gradient(p) for p, _ in pairs]
        columns = GradientColumns(sum(map(Tensor.numel, mine)), self._micro_batches, self._setup.device)
        for part in tokens.chunk(self._micro_batches):
            self._optimizer.zero_grad()
            self._one(part, 1.0)
            columns.add(columns.sample(_part(strategy, _gradient(own), p) for p, own in pairs))
        limit = max(_EXPLAINED, self._tolerance.at(number))
        found = explained(columns, mine, limit, lambda weights: self._left(strategy, tokens, weights))
        return None if found is None else list(found.values)

    def _left(self, strategy: Strategy, tokens: Tensor, weights: Weights) -> float:
        """How much of a gradient is left when so much of each micro-batch's is taken from it."""
        self._optimizer.zero_grad()
        for part, weight in zip(tokens.chunk(self._micro_batches), weights.values, strict=True):
            self._one(part, weight)
        pairs = self.pairs(strategy)
        found = [(_gradient(mine), _part(strategy, _gradient(own), mine)) for mine, own in pairs]
        apart = _norm(mine - own for mine, own in found)
        return apart / (_norm(mine for mine, _ in found) or 1.0)


def _sums(model: nn.Module, options: ddp.Options, ranks: int) -> RoundedSums | CompressedSums | None:
    """Of gradients that do not travel as they are; None where they do, or in another way."""
    form = compression.FORMS.get(options.comm_hook)
    return RoundedSums.of(model, options, ranks) if form is None else CompressedSums(model, form, ranks)


def _compressed(model: nn.Sequential, setup: Setup) -> DistributedDataParallel | None:
    """The model, its gradients compressed as those of the ranks are, without any of them; None = these are not."""
    options = setup.spec.of(ddp.Options)
    if options.comm_hook != "powersgd":
        return None
    group = dist.new_group([setup.rank], use_local_synchronization=True)
    copy = in_ddp(
        model,
        setup.device,
        process_group=group,
        bucket_cap_mb=options.bucket_mib,
        gradient_as_bucket_view=options.gradient_as_bucket_view,
    )
    gradients.compress(copy, group)
    return copy


_EXPLAINED = 1e-3
"""Share of a gradient that may be left over when weights explain it: a thousand times what rounding leaves."""


def _part(strategy: Strategy, full: Tensor, mine: Tensor) -> Tensor:
    """The part of a tensor of the reference, where the strategy has its own: offloaded, or on another device."""
    return strategy.same_part(full, mine).to(local(mine).device)


def _gradient(parameter: Tensor) -> Tensor:
    gradient = parameter.grad
    return torch.zeros_like(local(parameter)) if gradient is None else local(gradient)


def _difference(what: str, got: float, expected: float, tolerance: float) -> TensorDifference:
    error = abs(got - expected) / (abs(expected) or 1.0)
    return TensorDifference(what=what, got=got, expected=expected, error=error, tolerance=tolerance)


def _compared(what: str, pairs: Iterable[tuple[Tensor, Tensor]], tolerance: float) -> TensorDifference:
    pairs = list(pairs)
    expected = _norm(own for _, own in pairs)
    apart = _norm(mine - own for mine, own in pairs)
    got = _norm(mine for mine, _ in pairs)
    error = apart / (expected or 1.0)
    return TensorDifference(what=what, got=got, expected=expected, error=error, tolerance=tolerance)


def _norm(tensors: Iterable[Tensor]) -> float:
    squares = [torch.linalg.vector_norm(tensor.double()) ** 2 for tensor in tensors]
    home = squares[0].device if squares else None
    return float(torch.stack([square.to(home) for square in squares]).sum().sqrt()) if squares else 0.0


def _badness(difference: TensorDifference) -> float:
    return difference.error if difference.error == difference.error else float("inf")
