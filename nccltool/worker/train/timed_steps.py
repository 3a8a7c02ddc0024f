"""What a step of a strategy is made of: steps that are timed, and steps of which a trace is written."""

import contextlib
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from nccltool.core import processes
from nccltool.launch.events import Reported
from nccltool.probe.events import Samples
from nccltool.train.events import Flowed, TimedSteps
from nccltool.train.spec import TrainSpec
from nccltool.worker.train import profiling
from nccltool.worker.train.compute_only import ComputeOnly
from nccltool.worker.train.rank_tools import RankTools
from nccltool.worker.train.stopwatch import Flow
from nccltool.worker.train.strategies.base import Setup, Strategy

WARM_UP = 2
"""Steps before those that are timed."""
_MOST_NS = 150
"""Numbers of nanoseconds that fit an event."""

Step = Callable[[Tensor], None]


class StepTimer:
    """Times one strategy. Every method is called by all ranks together."""

    def __init__(self, strategy: Strategy, setup: Setup, name: str, tools: RankTools) -> None:
        self._strategy, self._setup, self._name, self._tools = strategy, setup, name, tools

    def time(self, steps: int, index: int) -> None:
        """Time steps, in turns with the same work without communication; rank 0 reports them."""
        group, flow = self._tools.group, self._strategy.flow
        _forget_peak(group.device)
        step = stepper(self._strategy)
        self._loop(WARM_UP, step)
        peak = _peak_bytes(group.device)
        compute_only = self._compute_only()
        if compute_only is not None:
            self._loop(WARM_UP, compute_only)
        if flow is not None:
            flow.reset()
        group.meet()
        # in turns, so that what disturbs the machine for longer than a step disturbs both
        ours, alone_ns = self._loop(steps, step, *((compute_only,) if compute_only else ())), None
        together = ours[1] if compute_only else []
        if compute_only is not None and group.rank == 0:
            alone_ns = statistics.median_low(self._loop(steps, compute_only)[0])
        everybodys = group.everybodys([sum(together), peak or -1])
        slowest = group.maximum(ours[0])
        together = group.maximum(together) if together else []
        if flow is not None:
            self._report_flow(flow)
        if group.rank == 0:
            self._report(index, slowest, together, alone_ns, everybodys)

    def _compute_only(self) -> Step | None:
        spec = self._setup.spec
        possible = self._strategy.WITHOUT_SYNC and not _cannot_repeat(spec)
        return ComputeOnly(self._setup).step if possible else None

    def _loop(self, steps: int, *kinds: Step) -> list[list[int]]:
        """Nanoseconds of each step on this rank, for each kind of step, which take turns."""
        took: list[list[int]] = [[] for _ in kinds]
        for number in range(1, steps + 1):
            tokens = self._tools.tokens(self._setup, number)
            for kind, times in zip(kinds, took, strict=True):
                self._tools.slot.phase("timing")
                begin = time.perf_counter_ns()
                kind(tokens)
                self._tools.settle()
                times.append(time.perf_counter_ns() - begin)
        return took

    def _report(
        self,
        index: int,
        slowest: list[int],
        together: list[int],
        alone_ns: int | None,
        everybodys: list[list[int]],
    ) -> None:
        emit, setup = self._tools.channel.emit, self._setup
        for start in range(0, len(slowest), _MOST_NS):
            emit(Samples(step=index, ns=tuple(slowest[start : start + _MOST_NS])))
        emit(
            TimedSteps(
                step=index,
                strategy=self._name,
                sequences=setup.sequences,
                tokens=setup.sequences * setup.spec.context,
                without_sync_ns=statistics.median_low(together) if together else None,
                alone_ns=alone_ns or None,
                rank_ns=tuple(row[0] for row in everybodys) if together else (),
                peak_bytes=tuple(row[1] if row[1] >= 0 else None for row in everybodys),
            )
        )

    def _report_flow(self, flow: Flow) -> None:
        everybodys = self._tools.group.everybodys([flow.computing.ns(), flow.running.ns()])
        if self._tools.group.rank:
            return
        self._tools.channel.emit(
            Flowed(
                strategy=self._name,
                ranks=flow.ranks,
                micro_batches=flow.micro_batches,
                stages=flow.stages,
                computing_ns=tuple(row[0] for row in everybodys),
                running_ns=tuple(row[1] for row in everybodys),
            )
        )

    def profile(self, folder: Path) -> None:
        """A trace of some more steps, after those that are timed: it would slow them."""
        tools = self._tools
        tools.slot.phase("profiling")
        file = folder / profiling.name(self._name, tools.group.rank)
        step, tokens = stepper(self._strategy), tools.tokens(self._setup, 1)

        def one() -> None:
            step(tokens)
            tools.settle()

        tools.group.meet()
        try:
            profiling.trace(tools.group.device, file, [one] * profiling.STEPS)
        except OSError as error:
            tools.channel.emit(Reported(finding=profiling.not_written(tools.group.rank, file, error)))
        tools.slot.phase("between steps")


def stepper(strategy: Strategy) -> Step:
    """A whole step, as it is timed."""

    def step(tokens: Tensor) -> None:
        strategy.clear()
        strategy.forward_backward(tokens)
        strategy.reduce_gradients()
        strategy.unscale()
        strategy.update()

    return step


def _cannot_repeat(spec: TrainSpec) -> bool:
    """A model alone cannot compute a block again with parameters that were cast for the first time only."""
    return spec.recompute and bool(spec.param_dtype)


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
