"""Validation after each compared step, and when to stop, beside the same of one process.

All ranks have the same loss from one all_reduce, and stop when one says so in another: a rank that stopped alone
would leave the others waiting in the next step.
"""

from nccltool.train.early_stop import EarlyStop
from nccltool.train.strategies.base import ValidationOptions
from nccltool.train.tolerance import Tolerance
from nccltool.worker.train import held_out
from nccltool.worker.train.reference import Reference, TensorDifference
from nccltool.worker.train.strategies.base import Setup, Strategy


def is_asked_for(setup: Setup) -> bool:
    return setup.spec.of(ValidationOptions).validate > 0


class Validation:
    """Of a strategy. All ranks call `step` together."""

    def __init__(self, strategy: Strategy, tolerance: Tolerance) -> None:
        setup, patience = strategy.setup, strategy.setup.spec.of(ValidationOptions).patience
        self._strategy, self._tolerance = strategy, tolerance
        parts = held_out.batches(setup.spec, setup.rank, setup.world)
        self._batches = [part.to(setup.device) for part in parts]
        self._ranks, self._reference = EarlyStop(patience), EarlyStop(patience)
        self.loss = self.expected = 0.0
        """Of the last step: of the ranks, and of one process."""
        self.stops = False
        """Whether the ranks stop after it."""

    def step(self) -> None:
        """After an update."""
        setup = self._strategy.setup
        self.loss = self._strategy.validated(self._batches)
        mine = self._ranks.take(self.loss)
        with setup.communicating("agreeing"):
            self.stops = bool(setup.group.maximum([mine])[0])

    def differences(self, reference: Reference, number: int) -> list[TensorDifference]:
        """From the reference, after its update."""
        rounding, self.expected = self._tolerance.at(number), reference.validation_loss()
        should = self._reference.take(self.expected, rounding)
        error = 0.0 if self._reference.is_close else float(self.stops != should)
        apart = abs(self.loss - self.expected) / (abs(self.expected) or 1.0)
        return [
            TensorDifference(
                what="validation", got=self.loss, expected=self.expected, error=apart, tolerance=rounding
            ),
            TensorDifference(what="stop", got=self.stops, expected=should, error=error, tolerance=0.0),
        ]
