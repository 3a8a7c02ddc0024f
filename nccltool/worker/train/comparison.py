"""A strategy, trained step by step beside the reference."""

import math
import time
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from nccltool.train import tolerance
from nccltool.train.events import Compared, Diverged, Shares, TrainedStep
from nccltool.worker.train.gradients import Scaler
from nccltool.worker.train.reference import Reference, TensorDifference
from nccltool.worker.train.strategies.base import Strategy


class ReferenceComparison:
    """One strategy and its reference. Every method is called by all ranks together."""

    def __init__(self, strategy: Strategy, base: int) -> None:
        """`base`: the number in the run of the first step."""
        self._strategy, self._setup, self._base = strategy, strategy.setup, base
        self._allowed = tolerance.of(strategy.setup.spec)
        self._reference = Reference(strategy.setup, strategy.micro_batches, self._allowed)
        self._worst: dict[str, TensorDifference] = {}

    def catch_up(self, steps: int) -> None:
        """The steps that a checkpoint has already, which the reference does by itself."""
        scaler = Scaler(self._setup.device) if self._setup.is_half else None
        self._setup.slot.phase("catching up")
        for number in range(1, steps + 1):
            self._reference.catch_up(self._setup.tokens(number), scaler)
            self._setup.slot.tick()

    def only_parameters(self, number: int) -> bool:
        """Hold what was saved after the last step against the reference; whether it is right."""
        difference = self._reference.parameters(self._strategy, number, "parameters")
        self._report_wrong(number, [difference])
        self._worst = {"parameters": difference}
        return not self._is_wrong_anywhere([difference])

    def step(self, number: int) -> bool:
        """Train a step; whether it is right on all ranks."""
        strategy, reference, setup = self._strategy, self._reference, self._setup
        tokens = setup.tokens(number)
        begin = time.perf_counter_ns()
        losses = self._forward_backward(tokens, number)
        mine = {at: float(loss) for at, loss in losses.items()}
        took = time.perf_counter_ns() - begin
        setup.slot.phase("comparing")
        differences = [reference.parameters(strategy, number, "parameters")]
        scale = strategy.scaler.scale if strategy.scaler else 1.0
        theirs = reference.forward_backward(tokens, scale)
        norm = reference.gradient_norm()
        differences += [reference.losses(mine, theirs, number), reference.gradients(strategy, number)]
        shares = reference.shares(strategy, tokens) if differences[-1].is_wrong else None
        if shares is not None:  # the reference's own gradients were needed for it
            reference.forward_backward(tokens, scale)
        begin = time.perf_counter_ns()
        strategy.update()
        setup.group.settle()
        took += time.perf_counter_ns() - begin
        reference.update()
        setup.slot.phase("comparing")
        norms = differences[-1].got, norm
        differences.append(reference.parameters(strategy, number, "update"))
        self._report_wrong(number, differences, shares or ())
        self._report_step(number, mine, theirs, norms, took)
        self._note(differences)
        return not self._is_wrong_anywhere(differences)

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

    def _note(self, differences: Sequence[TensorDifference]) -> None:
        for difference in differences:
            if not difference.error <= self._worst.setdefault(difference.what, difference).error:
                self._worst[difference.what] = difference

    def _is_wrong_anywhere(self, differences: Sequence[TensorDifference]) -> bool:
        return bool(self._setup.group.maximum([any(difference.is_wrong for difference in differences)])[0])

    # ---- what is said of it

    def _report_wrong(
        self, number: int, differences: Sequence[TensorDifference], shares: Sequence[float] = ()
    ) -> None:
        wrong = next((difference for difference in differences if difference.is_wrong), None)
        if wrong is None:
            return
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
                shares=Shares.of(shares) if shares else None,
            )
        )

    def _report_step(
        self,
        number: int,
        mine: Mapping[int, float],
        theirs: Sequence[float],
        norms: tuple[float, float],
        took_ns: int,
    ) -> None:
        """The losses of all micro-batches come together on rank 0."""
        group, scaler = self._setup.group, self._strategy.scaler
        known = torch.tensor([mine.get(at, math.nan) for at in range(len(theirs))], dtype=torch.float64)
        everybodys = group.everybodys(known.view(torch.int64).tolist())  # as integers, to travel with the others
        slowest = group.maximum([took_ns])[0]
        if group.rank:
            return
        columns = torch.tensor(everybodys).view(torch.float64).T.tolist()
        losses = [next((loss for loss in column if loss == loss), math.nan) for column in columns]
        self._setup.channel.emit(
            TrainedStep(
                step=self._base + number - 1,
                strategy=self._setup.name,
                number=number,
                loss=repr(sum(losses) / len(losses)),
                reference_loss=repr(sum(theirs) / len(theirs)),
                gradient_norm=repr(norms[0]),
                reference_gradient_norm=repr(norms[1]),
                ns=slowest,
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
