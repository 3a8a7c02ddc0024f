"""Smoke trainings on one rank: steps that are held against the reference, then steps that are timed."""

import contextlib
import os
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from nccltool import events, processes, tolerance
from nccltool.model import Job, TrainSpec
from nccltool.worker import trainings, transformer
from nccltool.worker.bare import Bare
from nccltool.worker.board import CALLS, Slot
from nccltool.worker.channel import Channel
from nccltool.worker.drill import Drill
from nccltool.worker.group import CollectiveFailed, Group
from nccltool.worker.reference import Difference, Reference
from nccltool.worker.trainings.base import CannotTrain, Setup, Strategy

WARM_UP = 2
"""Steps before those that are timed."""
_MOST_NS = 150
"""Numbers of nanoseconds that fit an event."""

Step = Callable[[Tensor, int], None]


class Trainer:
    """Runs the strategies of a job, one after the other, in the same order on all ranks."""

    def __init__(self, job: Job, device: torch.device, slot: Slot, channel: Channel, drill: Drill) -> None:
        assert job.train is not None
        self._spec: TrainSpec = job.train
        self._slot, self._channel, self._drill = slot, channel, drill
        self._group = Group(device, slot)
        self._name, self._number = "", 0

    def run(self) -> None:
        """Train in each of the ways that were asked for."""
        if self._group.size > 1 and "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(
                1
            )  # as torchrun does: threads of several ranks on one host only wait for each other
        for index, name in enumerate(self._spec.strategies):
            self._train(name, index * (self._spec.steps + 1))
            processes.give_back_free_memory()

    def _train(self, name: str, base: int) -> None:
        self._name = name
        setup = self.setup(name)
        reason = ""
        strategy: Strategy | None = None
        self._slot.phase("between steps", base)
        try:
            with self._inside("building"):
                strategy = trainings.build(name, setup)
        except CannotTrain as cannot:
            reason = str(cannot)
        if self._group.maximum([bool(reason)])[0] or strategy is None:
            if reason and self._group.rank == 0:
                self._channel.emit(events.NotTrained(strategy=name, reason=reason))
            return
        if self._checked(strategy, setup, base):
            self._timed(strategy, setup, base + self._spec.steps)

    def setup(self, name: str) -> Setup:
        """What a strategy is built from."""
        fault = self._drill.numerical(name)
        return Setup(
            spec=self._spec,
            rank=self._group.rank,
            world=self._group.size,
            device=self._group.device,
            inside=self._inside,
            outside=self._outside,
            waiting=self._waiting,
            fault=fault,
        )

    # ---- what is right

    def _checked(self, strategy: Strategy, setup: Setup, base: int) -> bool:
        """Train beside the reference, up to the first step that differs; whether none did."""
        allowed = tolerance.of(self._spec)
        reference = Reference(setup, strategy.micro_batches, allowed)
        worst: dict[str, Difference] = {}
        for number in range(1, self._spec.steps + 1):
            self._enter(base + number - 1, f"step {number} of {self._name}", strategy)
            differences = self._beside(strategy, reference, setup, number, base + number - 1)
            for difference in differences:
                if not difference.error <= worst.get(difference.what, difference).error:
                    worst[difference.what] = difference
                worst.setdefault(difference.what, difference)
            if self._group.maximum([any(difference.is_wrong for difference in differences)])[0]:
                self._compared(strategy, worst, allowed.reason)
                return False
        self._compared(strategy, worst, allowed.reason)
        return True

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
        theirs = reference.forward_backward(tokens)
        norm = reference.gradient_norm()
        differences += [reference.losses(mine, theirs, number), reference.gradients(strategy, number)]
        shares = reference.shares(strategy, tokens) if differences[-1].is_wrong else None
        if shares is not None:  # the reference's own gradients were needed for it
            reference.forward_backward(tokens)
        begin = time.perf_counter_ns()
        strategy.update()
        self._settle()
        took += time.perf_counter_ns() - begin
        reference.update()
        self._slot.phase("comparing")
        got = differences[-1].got
        differences.append(reference.parameters(strategy, number, "update"))
        self._report_wrong(index, number, differences, shares)
        self._report_step(index, number, mine, theirs, (got, norm), took)
        return differences

    def _forward_backward(
        self, strategy: Strategy, setup: Setup, tokens: Tensor, number: int
    ) -> dict[int, Tensor]:
        self._number = number
        strategy.clear()
        self._outside("preparing")
        self._drill.at("enter", self._name, step=number)
        losses = strategy.forward_backward(tokens, number)
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
                    events.Diverged(
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
            events.TrainedStep(
                step=index,
                strategy=self._name,
                number=number,
                loss=repr(sum(losses) / len(losses)),
                reference_loss=repr(sum(theirs) / len(theirs)),
                gradient_norm=repr(norms[0]),
                reference_gradient_norm=repr(norms[1]),
                ns=slowest,
            )
        )

    def _compared(self, strategy: Strategy, worst: dict[str, Difference], rule: str) -> None:
        self._channel.emit(
            events.Compared(
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
        bare = Bare(setup).step if strategy.WITHOUT_SYNC else None
        if bare is not None:
            self._loop(setup, WARM_UP, bare)
        self._group.meet()
        # in turns, so that what disturbs the machine for longer than a step disturbs both
        ours, alone_ns = self._loop(setup, self._spec.timed_steps, step, *((bare,) if bare else ())), 0
        together = ours[1] if bare else []
        if bare is not None and self._group.rank == 0:
            alone_ns = statistics.median_low(self._loop(setup, self._spec.timed_steps, bare)[0])
        everybodys = self._group.everybodys([sum(together), peak or -1])
        slowest = self._group.maximum(ours[0])
        together = self._group.maximum(together) if together else []
        if self._group.rank:
            return
        for start in range(0, len(slowest), _MOST_NS):
            self._channel.emit(events.Samples(step=index, ns=tuple(slowest[start : start + _MOST_NS])))
        self._channel.emit(
            events.TimedSteps(
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
        within = tuple(sorted(strategy.COLLECTIVES.items()))
        self._channel.emit(
            events.Enter(rank=self._group.rank, step=index, op=self._name, bytes=0, label=label, within=within)
        )

    @contextlib.contextmanager
    def _inside(self, phase: str) -> Iterator[None]:
        self._waiting(phase)
        try:
            yield
        except RuntimeError as error:
            if not self._slot.words[CALLS] % 2:  # it waited for nobody: a pipeline wraps what its stages raise
                raise (error.__cause__ or error) from None
            raise CollectiveFailed(f"in {phase}") from error
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
        strategy.update()

    return step


def _corrupt(strategy: Strategy) -> None:
    """One element of one gradient comes out of the collective as if another one had been added to it."""
    from nccltool.worker.trainings.base import local

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
