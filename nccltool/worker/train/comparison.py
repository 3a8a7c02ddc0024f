"""A strategy, trained step by step beside the reference."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from nccltool.train import reference_cost, tolerance
from nccltool.train.events import SHARE_OFF, Compared, Diverged, NotCompared, Shares, TrainedStep
from nccltool.train.reference_cost import FreeMemory, ModelNumbers
from nccltool.train.tolerance import Products
from nccltool.worker import memory
from nccltool.worker.train import halving, micro_batch_norms, transformer, validation
from nccltool.worker.train.gradients import Scaler, local
from nccltool.worker.train.reference import Reference, TensorDifference
from nccltool.worker.train.strategies.base import Strategy
from nccltool.worker.train.validation import Validation

_MESSAGE = 300
"""Of an error's text."""

_LONG_STEP_S = 5.0
"""Of the reference: ranks that are done with it do not wait for the others inside a collective."""
_PATIENCE_S, _SLOWER = 600.0, 20.0
"""How long they wait at most: the runner, which sees whether the others move, ends a run before that."""

Outcome = Literal["right", "wrong", "not compared"]


@dataclass(slots=True)
class _Found:
    """What came of one step, as far as it went."""

    differences: list[TensorDifference] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    """Of the reference."""
    norm: float = math.nan
    """Of its gradients."""
    shares: list[float] | None = None
    micro_batch_norms: tuple[float, float] | None = None
    """Root mean squares of those of this step's gradients: of the ranks, and of the reference."""

    @property
    def is_wrong(self) -> bool:
        return any(difference.is_wrong for difference in self.differences)


class ReferenceComparison:
    """One strategy and its reference. Every method is called by all ranks together."""

    def __init__(
        self,
        strategy: Strategy,
        base: int,
        products: Products = "exact",
        losses: list[float] | None = None,
    ) -> None:
        """`base`: the number in the run of the first step. `losses`: takes the reference's."""
        self._losses = [] if losses is None else losses
        self._strategy, self._setup, self._base = strategy, strategy.setup, base
        self._allowed = tolerance.of(self._setup.spec, self._setup.world, products)
        self._made: Reference | None = None
        asked = validation.is_asked_for(self._setup)
        self._validation = Validation(strategy, self._allowed) if asked else None
        self._sees_micro_batches = strategy.accumulate > 1 and strategy.has_whole_gradients()
        self._worst: dict[str, TensorDifference] = {}
        self._step_s, self._meetings = 0.0, 0
        """How long the reference takes for a step; how often ranks came together when it takes long."""

    @property
    def _reference(self) -> Reference:
        assert self._made is not None, "begin() has not made it"
        return self._made

    def begin(self, saved: int) -> bool:
        """Make the reference, have it do the steps that a checkpoint has already, and say what it costs; whether
        all ranks have the memory for it."""
        setup, micro_batches = self._setup, self._strategy.micro_batches
        fewest = setup.sequences if halving.is_asked_for(setup) else micro_batches  # in one of these
        needed = reference_cost.needs(setup.spec, _numbers(self._strategy), setup.sequences, fewest)
        device, group = setup.device, setup.group
        mine = [memory.place(device), _or_unknown(memory.free(device)), needed.total]
        ranks = [FreeMemory(place=row[0], bytes=row[1], needed=row[2]) for row in group.everybodys(mine)]
        if reason := reference_cost.too_little(setup.name, ranks):
            if setup.rank == 0:
                self._report_not_compared(reason, needed.terms)
            return False
        setup.slot.phase("comparing")
        if (first_ns := self._first_ns()) is None:
            return False
        self._step_s = micro_batches * first_ns / 1e9
        left = setup.spec.steps - saved
        cost = reference_cost.announced(setup.name, needed, max(left, 0), micro_batches, first_ns / 1e9)
        if cost is not None and setup.rank == 0:
            setup.channel.report(cost)
        setup.slot.phase("catching up")
        return self._has_memory(lambda: self._catch_up(saved))

    def _first_ns(self) -> int | None:
        """Of a micro-batch on the slowest rank; None where memory was too little."""
        took = [0]

        def make() -> None:
            self._made = Reference(self._setup, self._strategy.micro_batches, self._allowed)
            took[0] = self._made.first_ns(self._setup.tokens(1))

        if halving.is_asked_for(self._setup):
            make = partial(halving.until_it_fits, self._setup, make)
        return self._setup.group.maximum(took)[0] if self._has_memory(make) else None

    def _catch_up(self, steps: int) -> None:
        """By itself."""
        scaler = Scaler(self._setup.device) if self._setup.is_half else None
        for number in range(1, steps + 1):
            self._reference.catch_up(self._setup.tokens(number), scaler)
            self._setup.slot.tick()

    def _has_memory(self, work: Callable[[], None]) -> bool:
        """Do what this rank does for the comparison alone; whether memory was enough for it on all ranks.

        A rank that lacks it says so, and goes on with the others: a failure here is none of the strategy.
        """
        reason, group = "", self._setup.group
        try:
            work()
        except (MemoryError, RuntimeError) as error:
            if not memory.ran_out(error):
                raise
            reason = f"rank {group.rank} ran out of memory in the reference: {str(error)[:_MESSAGE]}"
        if self._step_s > _LONG_STEP_S:  # a rank that looks for what explains its gradient takes a few times that
            self._meetings += 1
            patience_s = _PATIENCE_S + _SLOWER * self._step_s
            group.come_together(f"reference/{self._base}/{self._meetings}", patience_s)
        lowest = group.maximum([group.size - group.rank if reason else 0])[0]
        if lowest and lowest == group.size - group.rank:
            self._report_not_compared(reason)
        if lowest:
            self._made = None
            memory.give_back(self._setup.device)
        return not lowest

    def only_parameters(self, number: int) -> Outcome:
        """Hold what was saved after the last step against the reference."""
        found = _Found()

        def compare() -> None:
            found.differences.append(self._reference.parameters(self._strategy, number, "parameters"))

        has_memory = self._has_memory(compare)
        self._report_wrong(number, found)
        self._worst = {difference.what: difference for difference in found.differences}
        return self._outcome(found, has_memory)

    def step(self, number: int) -> Outcome:
        """Train a step, and hold it against the reference."""
        strategy, setup = self._strategy, self._setup
        tokens, found = setup.tokens(number), _Found()
        begin = time.perf_counter_ns()
        batch = setup.drawn(number)[0]
        with micro_batch_norms.watching(self._watched(strategy.model)) as squares:
            losses = self._forward_backward(batch, number)
        mine = {at: float(loss) for at, loss in losses.items()}
        took = time.perf_counter_ns() - begin
        setup.slot.phase("comparing")
        strategy.advise(self._reference.model, self._allowed.at(number))
        norm = strategy.micro_batch_norm(squares.total()) if self._sees_micro_batches else None
        if not self._has_memory(lambda: self._before_update(found, mine, tokens, number, norm)):
            self._report_wrong(number, found)
            return self._outcome(found, has_memory=False)
        begin = time.perf_counter_ns()
        strategy.update()
        setup.group.settle()
        took += time.perf_counter_ns() - begin
        if self._validation is not None:
            self._validation.step()
        setup.slot.phase("comparing")
        has_memory = self._has_memory(lambda: self._after_update(found, number))
        self._report_wrong(number, found)
        self._report_step(number, mine, found, took)
        self._note(found.differences)
        return self._outcome(found, has_memory)

    def _before_update(
        self, found: _Found, mine: dict[int, float], tokens: Tensor, number: int, norm: float | None
    ) -> None:
        reference, strategy = self._reference, self._strategy
        found.differences.append(reference.parameters(strategy, number, "parameters"))
        found.differences += reference.frozen(strategy)
        scale = strategy.scaler.scale if strategy.scaler else 1.0
        watched = strategy if tolerance.short_sum(self._setup.spec) else None
        reference.follow(strategy, number)
        with micro_batch_norms.watching(self._watched(reference.model)) as squares:
            found.losses = reference.forward_backward(tokens, scale, watched)
        self._losses.append(sum(found.losses) / len(found.losses))
        found.norm = reference.gradient_norm()
        found.differences.append(reference.losses(mine, found.losses, number))
        found.differences.append(reference.gradients(strategy, number))
        if norm is not None and not (strategy.scaler and strategy.scaler.overflowed):
            found.micro_batch_norms = norm, reference.micro_batch_norm(squares.total(), scale)
            found.differences.append(reference.micro_batches(*found.micro_batch_norms, number))
        if (share := reference.share(strategy)) is not None:
            found.differences.append(share[0])
            found.shares = share[1] if share[0].is_wrong else None
        elif found.differences[-1].is_wrong:
            found.shares = reference.shares(strategy, tokens, number)
            if found.shares is not None:  # its own gradients were needed for it
                reference.forward_backward(tokens, scale)
        if not found.is_wrong:
            reference.take_over(strategy)
        more = reference.compression(strategy, number), reference.state(strategy, number)
        found.differences += [one for one in more if one is not None]

    def _after_update(self, found: _Found, number: int) -> None:
        self._reference.update()
        found.differences.append(self._reference.parameters(self._strategy, number, "update"))
        found.differences += self._reference.frozen(self._strategy)
        if self._validation is not None:
            found.differences += self._validation.differences(self._reference, number)

    @property
    def stops(self) -> bool:
        """Whether the ranks have agreed that the last step was the last one."""
        return self._validation is not None and self._validation.stops

    def _forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        strategy, setup = self._strategy, self._setup
        strategy.clear()
        setup.computing("preparing")
        setup.begin(number)
        losses = strategy.forward_backward(tokens)
        strategy.reduce_gradients()
        strategy.unscale()
        setup.group.settle()
        return losses

    def _watched(self, model: nn.Module) -> Iterable[nn.Parameter]:
        return model.parameters() if self._sees_micro_batches else ()

    def _note(self, differences: Sequence[TensorDifference]) -> None:
        for difference in differences:
            if not difference.error <= self._worst.setdefault(difference.what, difference).error:
                self._worst[difference.what] = difference

    def _outcome(self, found: _Found, has_memory: bool) -> Outcome:
        """Of all ranks: what one of them found out is not lost because another one had no memory."""
        if self._setup.group.maximum([found.is_wrong])[0]:
            return "wrong"
        return "right" if has_memory else "not compared"

    # ---- what is said of it

    def _report_not_compared(self, reason: str, *evidence: str) -> None:
        setup = self._setup
        setup.channel.report(reference_cost.not_compared(setup.name, reason, evidence))
        setup.channel.emit(NotCompared(strategy=setup.name, rank=setup.rank, reason=reason))

    def _report_wrong(self, number: int, found: _Found) -> None:
        wrong = next((difference for difference in found.differences if difference.is_wrong), None)
        if wrong is None:
            return
        off = next((one.tolerance for one in found.differences if one.what == "share"), SHARE_OFF)
        self._setup.channel.emit(
            Diverged(
                rank=self._setup.rank,
                step=self._base + min(number, self._setup.spec.steps) - 1,  # a checkpoint may be of a later one
                strategy=self._setup.name,
                number=number,
                what=wrong.what,
                got=repr(wrong.got),
                expected=repr(wrong.expected),
                error=repr(wrong.error),
                tolerance=wrong.tolerance,
                shares=Shares.of(found.shares, off) if found.shares else None,
            )
        )

    def _report_step(
        self,
        number: int,
        mine: Mapping[int, float],
        found: _Found,
        took_ns: int,
    ) -> None:
        """The losses of all micro-batches come together."""
        theirs = found.losses
        group, scaler = self._setup.group, self._strategy.scaler
        slowest, *bits = group.maximum([took_ns, *as_integers(mine, len(theirs))])
        if group.rank:
            return
        losses, seen = from_integers(bits), self._validation
        small = found.micro_batch_norms
        self._setup.channel.emit(
            TrainedStep(
                step=self._base + number - 1,
                strategy=self._setup.name,
                number=number,
                loss=repr(sum(losses) / len(losses)),
                reference_loss=repr(sum(theirs) / len(theirs)),
                gradient_norm=repr(next(one.got for one in found.differences if one.what == "gradient")),
                reference_gradient_norm=repr(found.norm),
                micro_batch_norm=repr(small[0]) if small else "",
                reference_micro_batch_norm=repr(small[1]) if small else "",
                ns=slowest,
                validation_loss=repr(seen.loss) if seen else "",
                reference_validation_loss=repr(seen.expected) if seen else "",
                stops=self.stops,
                overflowed=scaler is not None and scaler.overflowed,
            )
        )

    def report_end(self) -> None:
        """Say how far this rank was from the reference at most."""
        self._setup.channel.emit(
            Compared(
                rank=self._setup.rank,
                strategy=self._setup.name,
                micro_batches=self._strategy.micro_batches,
                errors=tuple((what, repr(worst.error), worst.tolerance) for what, worst in self._worst.items()),
                rule=self._allowed.reason,
            )
        )


def _or_unknown(free: int | None) -> int:
    return -1 if free is None else free


def _numbers(strategy: Strategy) -> ModelNumbers:
    with torch.device("meta"):
        sizes = [parameter.numel() for parameter in transformer.make(strategy.setup.spec).parameters()]
    mine = sum(local(parameter).numel() for _, parameter in strategy.named_parameters())
    return ModelNumbers(all=sum(sizes), largest=max(sizes), mine=mine)


_NOT_SEEN = torch.iinfo(torch.int64).min
"""Less than the bits of any loss."""


def as_integers(losses: Mapping[int, float], micro_batches: int) -> list[int]:
    """The bits of each loss, so that the largest of all ranks is the loss of those that saw the micro-batch.

    Losses are not negative, and one that is no number is above all others; processors write it with a sign, which
    must not count. A list of all of each rank would have as many numbers as the square of their count.
    """
    seen = torch.tensor([abs(losses.get(at, 0.0)) for at in range(micro_batches)], dtype=torch.float64)
    return [bits if at in losses else _NOT_SEEN for at, bits in enumerate(seen.view(torch.int64).tolist())]


def from_integers(bits: Sequence[int]) -> list[float]:
    """The losses again; one that no rank saw is no number."""
    losses: list[float] = torch.tensor(bits).view(torch.float64).tolist()
    return [math.nan if one == _NOT_SEEN else loss for one, loss in zip(bits, losses, strict=True)]
