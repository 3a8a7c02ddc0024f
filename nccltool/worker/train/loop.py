"""Smoke training runs on one rank: steps that are held against the reference, then steps that are timed."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import torch

from nccltool.launch import allowances, events
from nccltool.train import checkpoints, longest_step, sharing, tuning
from nccltool.train.checkpoints import Mark
from nccltool.train.events import Built, NotTrained
from nccltool.train.job import TrainSpec
from nccltool.train.result import ModelShape
from nccltool.worker import memory
from nccltool.worker.rank import contact
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import checkpoint, faults, precision, strategies
from nccltool.worker.train.checkpoint import Checkpoints, CheckpointsFailed
from nccltool.worker.train.comparison import Outcome, ReferenceComparison
from nccltool.worker.train.feed import feed
from nccltool.worker.train.grace import EndedBySignal, Grace
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy
from nccltool.worker.train.timed_steps import time_steps, write_trace
from nccltool.worker.train.tuned_steps import tune


class Trainer:
    """Runs the strategies of a job, one after the other, in the same order on all ranks."""

    def __init__(self, spec: TrainSpec, tools: RankTools) -> None:
        self._spec, self._tools, self._group = spec, tools, tools.group
        self._checkpoints = Checkpoints(spec.checkpoint, tools) if spec.checkpoint else None

    def run(self) -> None:
        """Train in each of the ways that were asked for."""
        if (self._group.size > 1 or self._spec.series) and "OMP_NUM_THREADS" not in os.environ:
            # as torchrun does: threads of several ranks on one host only wait for each other; and of a series
            # the run of one rank must compute as the others do
            torch.set_num_threads(1)
        with contextlib.suppress(CheckpointsFailed, EndedBySignal):  # which has been reported
            if self._checkpoints is not None:
                self._checkpoints.meet()
            for index, name in enumerate(self._spec.strategies):
                if name not in self._spec.done:
                    self._train(name, index * (self._spec.steps + 1))
                memory.give_back(self._group.device)

    def _train(self, name: str, base: int) -> None:
        """`base`: the number in the run of its first step."""
        self._tools.slot.phase("between steps", base)
        self._allow(self._spec.for_one(name), is_first=True)
        saved = self._checkpoints.choose(name) if self._checkpoints is not None else None
        strategy = self._built(name, saved)
        if strategy is None or not feed(strategy) or not self._goes_on(strategy.setup, saved):
            return
        source = strategy.setup.feed
        with contextlib.nullcontext() if source is None else source.naming_dead_workers():
            self._steps(strategy, saved, base)

    def _goes_on(self, setup: Setup, saved: Mark | None) -> bool:
        """False = what was saved was trained with something else, which is said."""
        other = checkpoints.other_input(saved, setup.files) if saved is not None else ""
        if saved is not None and other and self._group.rank == 0:
            reason = f"its checkpoint of step {saved.step} is from a different training run: {other}"
            self._tools.channel.emit(NotTrained(strategy=setup.name, reason=reason))
        return not other

    def _steps(self, strategy: Strategy, saved: Mark | None, base: int) -> None:
        name = strategy.setup.name
        if strategy.setup.feed is not None and saved is not None:
            strategy.setup.feed.skip(saved.step)
        contact.let_groups_wait(self._tools.contact.net_s)
        self._allow(strategy.setup.spec, is_first=True)  # its model may have grown with the world
        if self._checkpoints is not None and saved is not None:
            self._checkpoints.load(strategy, saved)
        products, losses = precision.products(self._group.device), list[float]()
        with precision.exact():
            # not named here: the reference's memory is none of the timed steps
            comparison = ReferenceComparison(strategy, base, products, losses)
            with Grace(strategy.setup, self._spec.grace_s) as grace:
                outcome = self._compared(comparison, strategy, grace, base, saved.step if saved else 0)
        if outcome == "wrong":
            return
        strategy.report()
        if self._spec.timed_steps:
            _enter(strategy, base + self._spec.steps, f"the timed steps of {name}")
            time_steps(strategy, self._spec.timed_steps, base + self._spec.steps)
        if self._spec.tune and losses and tuning.has_variants(name):
            self._allow(strategy.setup.spec, is_first=True)
            _enter(strategy, base + self._spec.steps, f"the settings of {name}")
            tune(strategy, losses, products)
        if self._spec.profile:
            write_trace(strategy, Path(self._spec.profile))
        if strategy.setup.feed is not None:
            strategy.setup.feed.end()

    def _allow(self, spec: TrainSpec, is_first: bool) -> None:
        """Note how long a rank may wait for others; strategies have groups of their own, which connect in the
        first step."""
        seen = self._tools.contact
        connecting_s = allowances.of_first_contact(seen.backend, seen.ranks) if is_first else 0.0
        communicating_s = longest_step.inside_s(spec, seen.ranks, seen.rate)
        self._tools.slot.allow(seen.retries_s + communicating_s + connecting_s)

    def _built(self, name: str, saved: Mark | None) -> Strategy | None:
        """None where any rank cannot train so, which is said."""
        why, strategy = None, None
        try:
            setup = self.setup(name, saved)
            with setup.communicating("building"):
                strategy = faults.wrapped(strategies.build(setup))
        except CannotTrain as cannot:
            why = cannot
        seen = [row[0] for row in self._group.everybodys([0 if why is None else 1 + bool(str(why))])]
        if any(seen) or strategy is None:
            if why is not None and self._group.rank == seen.index(max(seen)):
                self._tools.channel.emit(NotTrained(strategy=name, reason=str(why), applies=why.applies))
            return None
        if self._group.rank == 0:
            self._tools.channel.emit(Built(strategy=name, shape=self._shape(strategy)))
        return strategy

    def _shape(self, strategy: Strategy) -> ModelShape:
        spec, replicas = strategy.setup.spec, strategy.replicas
        sizes = {size: getattr(spec, size) for size in sharing.SIZES}
        grown = tuple(size for size, number in sizes.items() if number != getattr(self._spec, size))
        if strategy.setup.made_for != self._group.size:  # the batch of a rank is what a checkpoint leaves it
            grown = tuple(size for size in grown if size != "batch")
        return ModelShape(**sizes, grown=grown, ranks=self._group.size // replicas, replicas=replicas)

    def setup(self, name: str, saved: Mark | None = None) -> Setup:
        """What a strategy is built from. Raises CannotTrain when what was saved is of another training."""
        spec = self._spec.for_one(name)
        if saved is not None:
            spec = replace(spec, batch=checkpoint.same_batch(spec, saved, self._group.size))
        return Setup(name, spec, self._tools, saved.made_for or saved.ranks if saved is not None else 0)

    def _compared(
        self, comparison: ReferenceComparison, strategy: Strategy, grace: Grace, base: int, saved: int
    ) -> Outcome:
        """Train beside the reference, from the step after `saved` to the first that differs."""
        name, steps = strategy.setup.name, self._spec.steps
        outcome: Outcome = "right" if comparison.begin(saved) else "not compared"
        if outcome == "right" and saved >= steps:  # no step is left to do
            _enter(strategy, base + steps - 1, f"the checkpoint of step {saved} of {name}")
            outcome = comparison.only_parameters(saved)
        for number in range(saved + 1, steps + 1):
            if outcome != "right" or comparison.stops:
                break
            _enter(strategy, base + number - 1, f"step {number} of {name}")
            outcome = comparison.step(number)
            self._allow(strategy.setup.spec, is_first=False)
            ends = outcome == "right" and grace.is_over()
            is_due = outcome == "right" and number % self._spec.checkpoint_every == 0
            if self._checkpoints and outcome == "right":
                self._checkpoints.note_step(name, number)
            if self._checkpoints and (ends or is_due):
                self._checkpoints.save(strategy, number)
            if ends:
                grace.leave(number)
        if outcome != "not compared":
            comparison.report_end()
        return outcome


_OF_ALL = {
    "unscaling": "all_reduce of the overflow flag",
    "clipping": "all_reduce of the gradient norm",
    "averaging": "all_reduce of the gradients between replicas",
    "agreeing": "all_reduce of what ranks agree on",
}
"""Phase -> what a rank waits for in it, in every strategy."""


def _enter(strategy: Strategy, index: int, label: str) -> None:
    """Say which step of the run begins, and what ranks wait for in it."""
    setup = strategy.setup
    setup.slot.phase("between steps", index)
    setup.label = label
    within = tuple(sorted({**_OF_ALL, **strategy.waits()}.items()))
    setup.channel.emit(
        events.Enter(rank=setup.rank, step=index, op=setup.name, bytes=0, label=label, within=within)
    )
