"""Smoke trainings on one rank: steps that are held against the reference, then steps that are timed."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import torch

from nccltool.core import processes
from nccltool.train import strategy_options
from nccltool.train.checkpoints import Mark
from nccltool.train.events import NotTrained
from nccltool.train.job import TrainJob
from nccltool.train.spec import TrainSpec
from nccltool.worker.agreement import Agreement
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.train import checkpoint, strategies
from nccltool.worker.train.checkpoint import Checkpoints, CheckpointsFailed
from nccltool.worker.train.comparison import ReferenceComparison
from nccltool.worker.train.faults import TrainingFaults
from nccltool.worker.train.rank_tools import RankTools
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy
from nccltool.worker.train.timed_steps import StepTimer


class Trainer:
    """Runs the strategies of a job, one after the other, in the same order on all ranks."""

    def __init__(
        self, job: TrainJob, device: torch.device, slot: ProgressPage, channel: Channel, injector: FaultInjector
    ) -> None:
        self._spec: TrainSpec = job.train
        self._group = Agreement(device, slot)
        self._tools = RankTools(group=self._group, slot=slot, channel=channel, faults=TrainingFaults(injector))
        self._checkpoints: Checkpoints | None = None
        if self._spec.checkpoint:
            self._checkpoints = Checkpoints(self._spec, self._tools)

    def run(self) -> None:
        """Train in each of the ways that were asked for."""
        if self._group.size > 1 and "OMP_NUM_THREADS" not in os.environ:
            # as torchrun does: threads of several ranks on one host only wait for each other
            torch.set_num_threads(1)
        with contextlib.suppress(CheckpointsFailed):  # which has been reported
            if self._checkpoints is not None:
                self._checkpoints.meet()
            for index, name in enumerate(self._spec.strategies):
                if name not in self._spec.done:
                    self._train(name, index * (self._spec.steps + 1))
                processes.give_back_free_memory()

    def _train(self, name: str, base: int) -> None:
        self._tools.faults.begin(name)
        self._tools.slot.phase("between steps", base)
        saved = self._checkpoints.choose(name) if self._checkpoints is not None else None
        built = self._built(name, saved)
        if built is None:
            return
        strategy, setup = built
        if self._checkpoints is not None and saved is not None:
            self._checkpoints.load(strategy, setup, saved)
        if not self._compared(strategy, setup, name, base, saved.step if saved else 0):
            return
        timer = StepTimer(strategy, setup, name, self._tools)
        if self._spec.timed_steps:
            self._tools.enter(strategy, name, base + self._spec.steps, f"the timed steps of {name}")
            timer.time(self._spec.timed_steps, base + self._spec.steps)
        if self._spec.profile:
            timer.profile(Path(self._spec.profile))

    def _built(self, name: str, saved: Mark | None) -> tuple[Strategy, Setup] | None:
        """None where any rank cannot train so, which is said."""
        reason, strategy = "", None
        try:
            setup = self.setup(name, saved)
            with self._tools.communicating("building"):
                strategy = self._tools.faults.wrapped(strategies.build(name, setup))
        except CannotTrain as cannot:
            reason = str(cannot)
        if self._group.maximum([bool(reason)])[0] or strategy is None:
            if reason and self._group.rank == 0:
                self._tools.channel.emit(NotTrained(strategy=name, reason=reason))
            return None
        return strategy, setup

    def setup(self, name: str, saved: Mark | None = None) -> Setup:
        """What a strategy is built from. Raises CannotTrain when what was saved is of another training."""
        spec = strategy_options.of(name, self._spec)
        if saved is not None:
            spec = replace(spec, batch=checkpoint.same_batch(spec, saved, self._group.size))
        return Setup(
            spec=spec,
            rank=self._group.rank,
            world=self._group.size,
            device=self._group.device,
            communicating=self._tools.communicating,
            waiting=self._tools.waiting,
            computing=self._tools.computing,
        )

    def _compared(self, strategy: Strategy, setup: Setup, name: str, base: int, saved: int) -> bool:
        """Train beside the reference, from the step after `saved` to the first that differs; whether none did."""
        comparison, steps = ReferenceComparison(strategy, setup, name, self._tools), self._spec.steps
        comparison.catch_up(saved)
        is_right = True
        if saved >= steps:  # no step is left to do
            index = base + steps - 1
            self._tools.enter(strategy, name, index, f"the checkpoint of step {saved} of {name}")
            is_right = comparison.only_parameters(saved, index)
        for number in range(saved + 1, steps + 1):
            index = base + number - 1
            self._tools.enter(strategy, name, index, f"step {number} of {name}")
            is_right = comparison.step(number, index)
            if not is_right:
                break
            if self._checkpoints is not None and number % self._spec.checkpoint_every == 0:
                self._checkpoints.save(strategy, setup, name, number)
        comparison.report_end()
        return is_right
