"""What a step of a strategy is made of: steps that are timed, and steps of which a trace is written."""

import contextlib
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, record_function

from nccltool.core import processes
from nccltool.core.findings import Subject
from nccltool.launch.events import Reported
from nccltool.probe.events import Samples
from nccltool.train.events import Flowed, TimedSteps
from nccltool.train.finding_kinds import PROFILE_NOT_WRITTEN
from nccltool.train.strategies.base import DataParallelOptions
from nccltool.worker.train import gradients, transformer
from nccltool.worker.train.gradients import Scaler
from nccltool.worker.train.stopwatch import Flow
from nccltool.worker.train.strategies.base import Setup, Strategy

WARM_UP = 2
"""Steps before those that are timed."""
_TRACED = 3
"""Steps in a trace; more would make files that viewers cannot open."""
_MOST_NS = 150
"""Numbers of nanoseconds that fit an event."""

Step = Callable[[Tensor], None]


class StepTimer:
    """Times one strategy. Every method is called by all ranks together."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy, self._setup = strategy, strategy.setup

    def time(self, steps: int, index: int) -> None:
        """Time steps, in turns with the same work without communication; rank 0 reports them."""
        group, flow = self._setup.group, self._strategy.flow
        _forget_peak(group.device)
        step = stepper(self._strategy)
        self._loop(WARM_UP, step)
        peak = _peak_bytes(group.device)
        compute_only = _compute_only(self._setup) if self._strategy.WITHOUT_SYNC else None
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

    def _loop(self, steps: int, *kinds: Step) -> list[list[int]]:
        """Nanoseconds of each step on this rank, for each kind of step, which take turns."""
        took: list[list[int]] = [[] for _ in kinds]
        for number in range(1, steps + 1):
            tokens = self._setup.tokens(number)
            for kind, times in zip(kinds, took, strict=True):
                self._setup.slot.phase("timing")
                begin = time.perf_counter_ns()
                kind(tokens)
                self._setup.group.settle()
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
        emit, setup = self._setup.channel.emit, self._setup
        for start in range(0, len(slowest), _MOST_NS):
            emit(Samples(step=index, ns=tuple(slowest[start : start + _MOST_NS])))
        emit(
            TimedSteps(
                step=index,
                strategy=self._setup.name,
                sequences=setup.sequences,
                tokens=setup.sequences * setup.spec.context,
                without_sync_ns=statistics.median_low(together) if together else None,
                alone_ns=alone_ns or None,
                rank_ns=tuple(row[0] for row in everybodys) if together else (),
                peak_bytes=tuple(row[1] if row[1] >= 0 else None for row in everybodys),
            )
        )

    def _report_flow(self, flow: Flow) -> None:
        everybodys = self._setup.group.everybodys([flow.computing.ns(), flow.running.ns()])
        if self._setup.rank:
            return
        self._setup.channel.emit(
            Flowed(
                strategy=self._setup.name,
                ranks=flow.ranks,
                micro_batches=flow.micro_batches,
                stages=flow.stages,
                computing_ns=tuple(row[0] for row in everybodys),
                running_ns=tuple(row[1] for row in everybodys),
            )
        )

    def profile(self, folder: Path) -> None:
        """A trace of some more steps, after those that are timed: it would slow them."""
        setup, step, tokens = self._setup, stepper(self._strategy), self._setup.tokens(1)
        setup.slot.phase("profiling")
        # so that TensorBoard's plugin finds it; Perfetto and Chrome open it too
        file = folder / f"{setup.name}-rank{setup.rank}.pt.trace.json.gz"
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if setup.device.type == "cuda" else [])]
        setup.group.meet()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()  # the profiler does not say it when it cannot write
            with profile(activities=activities) as profiler:
                for number in range(1, _TRACED + 1):
                    with record_function(f"nccltool step {number}"):
                        step(tokens)
                        setup.group.settle()
            profiler.export_chrome_trace(str(file))
        except OSError as error:
            finding = PROFILE_NOT_WRITTEN.finding(
                subject=Subject(kind="file", name=str(file)),
                message=f"rank {setup.rank} could not write its profiler trace {file}: {error.strerror or error}",
                remedy="make that folder on every host, or name one that all hosts share",
            )
            setup.channel.emit(Reported(finding=finding))
        setup.slot.phase("between steps")


def stepper(strategy: Strategy) -> Step:
    """A whole step, as it is timed."""

    def step(tokens: Tensor) -> None:
        strategy.clear()
        strategy.forward_backward(tokens)
        strategy.reduce_gradients()
        strategy.unscale()
        strategy.update()

    return step


def _compute_only(setup: Setup) -> Step | None:
    """A rank's part of a data-parallel step without any communication: the yardstick of its timed steps."""
    spec = setup.spec
    if spec.recompute and setup.param_dtype:
        return None  # it cannot compute a block again with parameters that were cast for the first time only
    model = transformer.make(spec).to(setup.device)
    optimizer, scaler = transformer.sgd(spec, model), Scaler(setup.device) if setup.is_half else None
    accumulate = spec.of(DataParallelOptions).accumulate
    first = setup.rank * accumulate

    def step(tokens: Tensor) -> None:
        optimizer.zero_grad()
        scale = 1.0 if scaler is None else scaler.scale
        for part in tokens.chunk(setup.world * accumulate)[first : first + accumulate]:
            with setup.lower():
                scores = transformer.scores_in(setup.param_dtype, model, part[:, :-1])
                loss = transformer.loss_of(scores, part[:, 1:])
            (loss / accumulate * scale).backward()
        if scaler is not None:
            scaler.unscale(gradients.of(model.parameters()), together=False)
            scaler.adapt()
        if spec.clip_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), spec.clip_norm)
        if scaler is None or not scaler.overflowed:
            optimizer.step()

    return step


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
