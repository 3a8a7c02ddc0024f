"""A strategy, trained step by step beside the reference."""

import struct
import time
from collections.abc import Mapping, Sequence

from torch import Tensor

from nccltool.train import tolerance
from nccltool.train.events import Compared, Diverged, TrainedStep
from nccltool.worker.train.loss_scale import Scaler
from nccltool.worker.train.rank_tools import RankTools
from nccltool.worker.train.reference import Reference, TensorDifference
from nccltool.worker.train.strategies.base import Setup, Strategy


class ReferenceComparison:
    """One strategy and its reference. Every method is called by all ranks together."""

    def __init__(self, strategy: Strategy, setup: Setup, name: str, tools: RankTools) -> None:
        self._strategy, self._setup, self._name, self._tools = strategy, setup, name, tools
        self._allowed = tolerance.of(setup.spec)
        self._reference = Reference(setup, strategy.micro_batches, self._allowed)
        self._worst: dict[str, TensorDifference] = {}

    def catch_up(self, steps: int) -> None:
        """The steps that a checkpoint has already, which the reference does by itself."""
        scaler = Scaler(self._setup.device) if self._setup.is_half else None
        self._tools.slot.phase("catching up")
        for number in range(1, steps + 1):
            self._reference.catch_up(self._tools.tokens(self._setup, number), scaler)
            self._tools.slot.tick()

    def only_parameters(self, number: int, index: int) -> bool:
        """Hold what was saved after the last step against the reference; whether it is right."""
        difference = self._reference.parameters(self._strategy, number, "parameters")
        self._report_wrong(index, number, [difference], ())
        self._worst = {"parameters": difference}
        return not self._is_wrong_anywhere([difference])

    def step(self, number: int, index: int) -> bool:
        """Train a step; whether it is right on all ranks."""
        strategy, reference, tools = self._strategy, self._reference, self._tools
        tokens = tools.tokens(self._setup, number)
        begin = time.perf_counter_ns()
        losses = self._forward_backward(tokens, number)
        mine = {at: float(loss) for at, loss in losses.items()}
        took = time.perf_counter_ns() - begin
        tools.slot.phase("comparing")
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
        tools.settle()
        took += time.perf_counter_ns() - begin
        reference.update()
        tools.slot.phase("comparing")
        norms = differences[-1].got, norm
        differences.append(reference.parameters(strategy, number, "update"))
        self._report_wrong(index, number, differences, shares or ())
        self._report_step(index, number, mine, theirs, norms, took)
        self._note(differences)
        return not self._is_wrong_anywhere(differences)

    def _forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        strategy = self._strategy
        strategy.clear()
        self._tools.computing("preparing")
        self._tools.faults.enter(number)
        losses = strategy.forward_backward(tokens)
        strategy.reduce_gradients()
        strategy.unscale()
        self._tools.settle()
        return losses

    def _note(self, differences: Sequence[TensorDifference]) -> None:
        for difference in differences:
            if not difference.error <= self._worst.setdefault(difference.what, difference).error:
                self._worst[difference.what] = difference

    def _is_wrong_anywhere(self, differences: Sequence[TensorDifference]) -> bool:
        return bool(self._tools.group.maximum([any(difference.is_wrong for difference in differences)])[0])

    # ---- what is said of it

    def _report_wrong(
        self, index: int, number: int, differences: Sequence[TensorDifference], shares: Sequence[float]
    ) -> None:
        wrong = next((difference for difference in differences if difference.is_wrong), None)
        if wrong is None:
            return
        self._tools.channel.emit(
            Diverged(
                rank=self._setup.rank,
                step=index,
                strategy=self._name,
                number=number,
                what=wrong.what,
                got=repr(wrong.got),
                expected=repr(wrong.expected),
                error=repr(wrong.error),
                tolerance=wrong.tolerance,
                shares=tuple(round(share, 4) for share in shares)[:64],
            )
        )

    def _report_step(
        self,
        index: int,
        number: int,
        mine: Mapping[int, float],
        theirs: Sequence[float],
        norms: tuple[float, float],
        took_ns: int,
    ) -> None:
        """The losses of all micro-batches come together on rank 0."""
        group, scaler = self._tools.group, self._strategy.scaler
        known = [mine.get(at, float("nan")) for at in range(len(theirs))]
        everybodys = group.everybodys([_bits(loss) for loss in known])
        slowest = group.maximum([took_ns])[0]
        if group.rank:
            return
        columns = zip(*([_number(bits) for bits in row] for row in everybodys), strict=True)
        losses = [next((loss for loss in column if loss == loss), float("nan")) for column in columns]
        self._tools.channel.emit(
            TrainedStep(
                step=index,
                strategy=self._name,
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
        self._tools.channel.emit(
            Compared(
                rank=self._setup.rank,
                strategy=self._name,
                micro_batches=self._strategy.micro_batches,
                errors=tuple((what, repr(worst.error), worst.tolerance) for what, worst in self._worst.items()),
                rule=self._allowed.reason,
            )
        )


def _bits(number: float) -> int:
    """A float64 as an integer, to travel with the others."""
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _number(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])
