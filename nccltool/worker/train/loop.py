"""Smoke trainings on one rank: steps that are held against the reference, then steps that are timed."""

import contextlib
import os
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from nccltool.core import processes
from nccltool.launch import events
from nccltool.probe.events import Samples
from nccltool.train import strategy_options, tolerance
from nccltool.train.checkpoints import Mark
from nccltool.train.events import Compared, Diverged, Flowed, NotTrained, TimedSteps, TrainedStep
from nccltool.train.job import TrainJob
from nccltool.train.spec import TrainSpec
from nccltool.worker.agreement import CollectiveFailed, Group, of_communication
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import CALLS, Slot
from nccltool.worker.rank.fault import Drill
from nccltool.worker.train import checkpoint, profiling, strategies, transformer
from nccltool.worker.train.checkpoint import Checkpoints, CheckpointsFailed
from nccltool.worker.train.compute_only import Bare
from nccltool.worker.train.loss_scale import Scaler
from nccltool.worker.train.reference import Difference, Reference
from nccltool.worker.train.stopwatch import Flow
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy

WARM_UP = 2
"""Steps before those that are timed."""
_OF_ALL = {
    "unscaling": "all_reduce of whether a gradient overflowed",
    "clipping": "all_reduce of the norm of the gradients",
}
"""Phase -> what a rank waits for in it, in every strategy."""
_MOST_NS = 150
"""Numbers of nanoseconds that fit an event."""

Step = Callable[[Tensor, int], None]


class Trainer:
    """Runs the strategies of a job, one after the other, in the same order on all ranks."""

    def __init__(self, job: TrainJob, device: torch.device, slot: Slot, channel: Channel, drill: Drill) -> None:
        self._spec: TrainSpec = job.train
        self._slot, self._channel, self._drill = slot, channel, drill
        self._group = Group(device, slot)
        self._checkpoints: Checkpoints | None = None
        if self._spec.checkpoint:
            self._checkpoints = Checkpoints(self._spec, self._group, slot, channel, drill)
        self._name, self._number = "", 0

    def run(self) -> None:
        """Train in each of the ways that were asked for."""
        if self._group.size > 1 and "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(
                1
            )  # as torchrun does: threads of several ranks on one host only wait for each other
        with contextlib.suppress(CheckpointsFailed):  # which has been reported
            if self._checkpoints is not None:
                self._checkpoints.meet()
            for index, name in enumerate(self._spec.strategies):
                if name not in self._spec.done:
                    self._train(name, index * (self._spec.steps + 1))
                processes.give_back_free_memory()

    def _train(self, name: str, base: int) -> None:
        self._name = name
        reason = ""
        strategy: Strategy | None = None
        self._slot.phase("between steps", base)
        saved = self._checkpoints.choose(name) if self._checkpoints is not None else None
        try:
            setup = self.setup(name, saved)
            with self._inside("building"):
                strategy = strategies.build(name, setup)
        except CannotTrain as cannot:
            reason = str(cannot)
        if self._group.maximum([bool(reason)])[0] or strategy is None:
            if reason and self._group.rank == 0:
                self._channel.emit(NotTrained(strategy=name, reason=reason))
            return
        if self._checkpoints is not None and saved is not None:
            self._checkpoints.load(strategy, setup, saved)
        if self._checked(strategy, setup, base, saved.step if saved else 0):
            self._timed(strategy, setup, base + self._spec.steps)
            self._profiled(strategy, setup)

    def setup(self, name: str, saved: Mark | None = None) -> Setup:
        """What a strategy is built from. Raises CannotTrain when what was saved is of another training."""
        fault = self._drill.numerical(name)
        spec = strategy_options.of(name, self._spec)
        if saved is not None:
            spec = replace(spec, batch=checkpoint.same_batch(spec, saved, self._group.size))
        return Setup(
            spec=spec,
            rank=self._group.rank,
            world=self._group.size,
            device=self._group.device,
            inside=self._inside,
            outside=self._outside,
            waiting=self._waiting,
            fault=fault,
        )

    # ---- what is right

    def _checked(self, strategy: Strategy, setup: Setup, base: int, saved: int) -> bool:
        """Train beside the reference, up to the first step that differs; whether none did.

        `saved`: steps that a checkpoint has already, which the reference does by itself.
        """
        allowed = tolerance.of(setup.spec)
        reference = Reference(setup, strategy.micro_batches, allowed)
        worst: dict[str, Difference] = {}
        self._catch_up(reference, setup, saved)
        if saved >= self._spec.steps:
            return self._only_saved(strategy, reference, saved, base + self._spec.steps - 1)
        for number in range(saved + 1, self._spec.steps + 1):
            self._enter(base + number - 1, f"step {number} of {self._name}", strategy)
            differences = self._beside(strategy, reference, setup, number, base + number - 1)
            for difference in differences:
                if not difference.error <= worst.get(difference.what, difference).error:
                    worst[difference.what] = difference
                worst.setdefault(difference.what, difference)
            if self._group.maximum([any(difference.is_wrong for difference in differences)])[0]:
                self._compared(strategy, worst, allowed.reason)
                return False
            if self._checkpoints is not None and number % self._spec.checkpoint_every == 0:
                self._checkpoints.save(strategy, setup, self._name, number)
        self._compared(strategy, worst, allowed.reason)
        return True

    def _catch_up(self, reference: Reference, setup: Setup, saved: int) -> None:
        scaler = Scaler(self._group.device) if setup.is_half else None
        self._slot.phase("catching up")
        for number in range(1, saved + 1):
            reference.catch_up(self._tokens(setup, number), scaler)
            self._slot.tick()

    def _only_saved(self, strategy: Strategy, reference: Reference, number: int, index: int) -> bool:
        """No step is left to do: what was saved is held against the reference."""
        self._enter(index, f"the checkpoint of step {number} of {self._name}", strategy)
        difference = reference.parameters(strategy, number, "parameters")
        self._report_wrong(index, number, [difference], None)
        is_wrong = bool(self._group.maximum([difference.is_wrong])[0])
        self._compared(strategy, {"parameters": difference}, tolerance.of(strategy.setup.spec).reason)
        return not is_wrong

    def _beside(
        self, strategy: Strategy, reference: Reference, setup: Setup, number: int, index: int
    ) -> list[Difference]:
        tokens = self._tokens(setup, number)
        begin = time.perf_counter_ns()
        losses = self._forward_backward(strategy, setup, tokens, number)
        mine = {at: float(loss) for at, loss in losses.items()}
        took = time.perf_counter_ns() - begin
        self._slot.phase("comparing")
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
        self._settle()
        took += time.perf_counter_ns() - begin
        reference.update()
        self._slot.phase("comparing")
        got = differences[-1].got
        differences.append(reference.parameters(strategy, number, "update"))
        self._report_wrong(index, number, differences, shares)
        overflowed = strategy.scaler is not None and strategy.scaler.overflowed
        self._report_step(index, number, mine, theirs, (got, norm), took, overflowed)
        return differences

    def _forward_backward(
        self, strategy: Strategy, setup: Setup, tokens: Tensor, number: int
    ) -> dict[int, Tensor]:
        self._number = number
        strategy.clear()
        self._outside("preparing")
        self._drill.at("enter", self._name, step=number)
        losses = strategy.forward_backward(tokens, number)
        strategy.unscale()
        self._settle()
        if setup.is_due("corrupt", number):
            _corrupt(strategy)
        return losses

    def _report_wrong(
        self, index: int, number: int, differences: list[Difference], shares: list[float] | None
    ) -> None:
        for difference in differences:
            if difference.is_wrong:
                self._channel.emit(
                    Diverged(
                        rank=self._group.rank,
                        step=index,
                        strategy=self._name,
                        number=number,
                        what=difference.what,
                        got=repr(difference.got),
                        expected=repr(difference.expected),
                        error=repr(difference.error),
                        tolerance=difference.tolerance,
                        shares=tuple(round(share, 4) for share in shares or ())[:64],
                    )
                )
                return

    def _report_step(
        self,
        index: int,
        number: int,
        mine: dict[int, float],
        theirs: list[float],
        norms: tuple[float, float],
        took_ns: int,
        overflowed: bool,
    ) -> None:
        """The losses of all micro-batches come together on rank 0."""
        known = [mine.get(at, float("nan")) for at in range(len(theirs))]
        everybodys = self._group.everybodys([_bits(loss) for loss in known])
        slowest = self._group.maximum([took_ns])[0]
        if self._group.rank:
            return
        columns = zip(*([_number(bits) for bits in row] for row in everybodys), strict=True)
        losses = [next((loss for loss in column if loss == loss), float("nan")) for column in columns]
        self._channel.emit(
            TrainedStep(
                step=index,
                strategy=self._name,
                number=number,
                loss=repr(sum(losses) / len(losses)),
                reference_loss=repr(sum(theirs) / len(theirs)),
                gradient_norm=repr(norms[0]),
                reference_gradient_norm=repr(norms[1]),
                ns=slowest,
                overflowed=overflowed,
            )
        )

    def _compared(self, strategy: Strategy, worst: dict[str, Difference], rule: str) -> None:
        self._channel.emit(
            Compared(
                rank=self._group.rank,
                strategy=self._name,
                micro_batches=strategy.micro_batches,
                errors=tuple((what, repr(worst[what].error), worst[what].tolerance) for what in worst),
                rule=rule,
            )
        )

    # ---- what a step is made of

    def _timed(self, strategy: Strategy, setup: Setup, index: int) -> None:
        if not self._spec.timed_steps:
            return
        self._enter(index, f"the timed steps of {self._name}", strategy)
        _forget_peak(self._group.device)

        step = stepper(strategy)
        self._loop(setup, WARM_UP, step)
        peak = _peak_bytes(self._group.device)
        bare = Bare(setup).step if strategy.WITHOUT_SYNC and not _cannot_repeat(setup.spec) else None
        if bare is not None:
            self._loop(setup, WARM_UP, bare)
        if strategy.flow is not None:
            strategy.flow.reset()
        self._group.meet()
        # in turns, so that what disturbs the machine for longer than a step disturbs both
        ours, alone_ns = self._loop(setup, self._spec.timed_steps, step, *((bare,) if bare else ())), 0
        together = ours[1] if bare else []
        if bare is not None and self._group.rank == 0:
            alone_ns = statistics.median_low(self._loop(setup, self._spec.timed_steps, bare)[0])
        everybodys = self._group.everybodys([sum(together), peak or -1])
        slowest = self._group.maximum(ours[0])
        together = self._group.maximum(together) if together else []
        if strategy.flow is not None:
            self._flowed(strategy.flow)
        if self._group.rank:
            return
        for start in range(0, len(slowest), _MOST_NS):
            self._channel.emit(Samples(step=index, ns=tuple(slowest[start : start + _MOST_NS])))
        self._channel.emit(
            TimedSteps(
                step=index,
                strategy=self._name,
                sequences=setup.sequences,
                tokens=setup.sequences * self._spec.context,
                without_sync_ns=statistics.median_low(together) if together else None,
                alone_ns=alone_ns or None,
                rank_ns=tuple(row[0] for row in everybodys) if together else (),
                peak_bytes=tuple(row[1] if row[1] >= 0 else None for row in everybodys),
            )
        )

    def _flowed(self, flow: Flow) -> None:
        everybodys = self._group.everybodys([flow.computing.ns(), flow.running.ns()])
        if self._group.rank:
            return
        self._channel.emit(
            Flowed(
                strategy=self._name,
                ranks=flow.ranks,
                micro_batches=flow.micro_batches,
                stages=flow.stages,
                computing_ns=tuple(row[0] for row in everybodys),
                running_ns=tuple(row[1] for row in everybodys),
            )
        )

    def _profiled(self, strategy: Strategy, setup: Setup) -> None:
        """A trace of some more steps, after those that are timed: it would slow them."""
        if not self._spec.profile:
            return
        self._slot.phase("profiling")
        file = Path(self._spec.profile) / profiling.name(self._name, self._group.rank)
        step, tokens = stepper(strategy), self._tokens(setup, 1)

        def one() -> None:
            step(tokens, 1)
            self._settle()

        self._group.meet()
        try:
            profiling.trace(self._group.device, file, [one] * profiling.STEPS)
        except OSError as error:
            self._channel.emit(events.Reported(finding=profiling.not_written(self._group.rank, file, error)))
        self._slot.phase("between steps")

    def _loop(self, setup: Setup, steps: int, *kinds: Step) -> list[list[int]]:
        """Nanoseconds of each step on this rank, for each kind of step, which take turns."""
        took: list[list[int]] = [[] for _ in kinds]
        for number in range(1, steps + 1):
            tokens = self._tokens(setup, number)
            for kind, times in zip(kinds, took, strict=True):
                self._slot.phase("timing")
                begin = time.perf_counter_ns()
                kind(tokens, number)
                self._settle()
                times.append(time.perf_counter_ns() - begin)
        return took

    # ---- where it is

    def _enter(self, index: int, label: str, strategy: Strategy) -> None:
        self._slot.phase("between steps", index)
        within = tuple(sorted({**_OF_ALL, **strategy.waits()}.items()))
        self._channel.emit(
            events.Enter(rank=self._group.rank, step=index, op=self._name, bytes=0, label=label, within=within)
        )

    @contextlib.contextmanager
    def _inside(self, phase: str) -> Iterator[None]:
        self._waiting(phase)
        try:
            yield
        except RuntimeError as error:
            if self._slot.words[CALLS] % 2 and of_communication(error):
                raise CollectiveFailed(f"in {phase}") from error
            raise (error.__cause__ or error) from None  # a pipeline wraps what its stages raise
        self._slot.words[CALLS] = 2

    def _waiting(self, phase: str) -> None:
        self._slot.phase(phase)
        self._slot.words[CALLS] = 1

    def _outside(self, phase: str) -> None:
        self._slot.phase(phase)
        if phase in ("between forward and backward", "computing a micro-batch"):
            self._drill.at("timing", self._name, step=self._number)

    def _settle(self) -> None:
        if self._group.device.type == "cuda":
            self._group.settle()

    def _tokens(self, setup: Setup, number: int) -> Tensor:
        return transformer.tokens_of(self._spec, number, setup.sequences).to(self._group.device)


def stepper(strategy: Strategy) -> Step:
    """A whole step, as it is timed."""

    def step(tokens: Tensor, number: int) -> None:
        strategy.clear()
        strategy.forward_backward(tokens, number)
        strategy.unscale()
        strategy.update()

    return step


def _cannot_repeat(spec: TrainSpec) -> bool:
    """A bare model cannot compute a block again with parameters that were cast for the first time only."""
    return spec.recompute and bool(spec.param_dtype)


def _corrupt(strategy: Strategy) -> None:
    """One element of one gradient comes out of the collective as if another one had been added to it."""
    from nccltool.worker.train.strategies.base import local

    gradients = [local(p.grad) for _, p in strategy.named_parameters() if p.grad is not None]
    largest = max((gradient for gradient in gradients if gradient.numel()), key=lambda g: float(g.abs().max()))
    flat = largest.view(-1)
    flat[len(flat) // 2] += float(largest.abs().max())


def _bits(number: float) -> int:
    """A float64 as an integer, to travel with the others."""
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _number(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def _forget_peak(device: torch.device) -> None:
    processes.give_back_free_memory()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    with contextlib.suppress(OSError):  # then the peak is that of the whole life of the process
        Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return processes.peak_rss_bytes()
