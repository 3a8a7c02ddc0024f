"""What a step of a strategy is made of: steps that are timed, and steps of which a trace is written."""

import contextlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, record_function

from nccltool.core import processes
from nccltool.core.findings import Subject
from nccltool.probe import late_rank
from nccltool.probe.events import Samples
from nccltool.train import starved
from nccltool.train.events import Flowed, InputTimed, MemorySeen, OfRanks, Passed, TimedSteps
from nccltool.train.finding_kinds import PROFILE_NOT_WRITTEN
from nccltool.train.job import trace_file
from nccltool.train.result import RankStarved
from nccltool.train.strategies.base import DataParallelOptions
from nccltool.worker import memory
from nccltool.worker.train import adamw, arrivals, gradients, launches, metering, transformer
from nccltool.worker.train.arrivals import CoreTime, Lateness
from nccltool.worker.train.file_thread import FileThread
from nccltool.worker.train.gradients import Scaler
from nccltool.worker.train.input import InputWait
from nccltool.worker.train.metering import WARM_UP, MeteredSteps
from nccltool.worker.train.stopwatch import Flow
from nccltool.worker.train.strategies.base import Setup, Strategy

_DRAWN_RANKS, _DRAWN_PASSES = 64, 2048
"""Of a pipeline: as many as a picture shows."""
_TRACED = 8
"""Steps in a trace. Two ranks are late in all of 8 by chance in 2 of 2**8 traces, in fewer more often than `trace`
allows; more would make files that viewers cannot open."""
_WRITTEN_S = 60.0
"""A trace has some megabytes, and NFS answers within its time-out: 60 s over TCP (nfs(5), timeo)."""

Step = Callable[[Tensor], None]


def time_steps(strategy: Strategy, steps: int, index: int) -> None:
    """Time steps, in turns with the same work without communication; rank 0 reports them."""
    setup, flow, group = strategy.setup, strategy.flow, strategy.setup.group
    _forget_peak(group.device)
    step = stepper(strategy)
    metered, peak = metering.metered(setup, step, steps), _peak_bytes(group.device)
    compute_only = [compute_only_step(setup)] if can_compute_alone(strategy) else []
    if compute_only:
        _loop(setup, WARM_UP, *compute_only)
    if flow is not None:
        flow.reset()
    group.meet()
    # in turns, so that what disturbs the machine for longer than a step disturbs both
    drawn: list[InputWait] = []
    clock = arrivals.CoreClock()
    ours, *others = _loop(setup, steps, step, *compute_only, waits=drawn)
    timed = clock.read()
    alone = _loop(setup, steps, *compute_only) if compute_only and group.rank == 0 else []
    launched = launches.waits(setup, step, *compute_only) if compute_only else None
    longest_waits, slowest = group.maximum([wait.ns for wait in drawn]), group.maximum(ours)
    together = [group.maximum(times) for times in others]
    everybodys = group.everybodys(_row(others, together, peak, drawn, timed))
    _report_pipeline(setup, flow, step)
    lacks_core = _starved(setup, met := metered.lateness, timed)
    if group.rank:
        return
    setup.channel.emit(
        *Samples.of(index, slowest),
        *_of_ranks(setup, index, everybodys, metered, computed_alone=bool(together)),
        TimedSteps(
            step=index,
            strategy=setup.name,
            sequences=setup.sequences,
            tokens=setup.sequences * setup.spec.context,
            without_sync_ns=statistics.median_low(together[0]) if together else None,
            alone_ns=statistics.median_low(alone[0]) if alone else None,
            input_ns=statistics.median_low(longest_waits),
            late_ranks=None if met is None else late_rank.as_pairs(met.ranks),
            starved=lacks_core,
            energy=metered.energy,
            launch_ns=None if launched is None else launched.alone_ns,
            late_calls_ns=None if launched is None else launched.late_calls_ns,
            moving_ns=_moving_ns([row[5] for row in everybodys], steps),
        ),
    )


def _row(
    others: list[list[int]],
    together: list[list[int]],
    peak: int | None,
    drawn: Sequence[InputWait],
    timed: CoreTime,
) -> list[int]:
    """What this rank reports, as _of_ranks takes it, and how long its communication lacked a core."""
    pairs = [pair for times in zip(others, together, strict=True) for pair in zip(*times, strict=True)]
    slowest_in = sum(mine == most for mine, most in pairs)
    waited = statistics.median_low(wait.ns for wait in drawn)
    return [sum(map(sum, others)), peak or -1, waited, _stalled_ns(drawn), slowest_in, timed[3]]


def _of_ranks(
    setup: Setup, index: int, rows: list[list[int]], metered: MeteredSteps, *, computed_alone: bool
) -> Iterator[OfRanks | MemorySeen | InputTimed]:
    """`rows`: of each rank ns without communication, its peak in bytes or -1, ns that it waited for input, those
    of them in which storage kept it waiting or -1, and in how many steps its own work took longest."""
    yield from OfRanks.of(
        setup.name,
        index,
        [row[0] for row in rows] if computed_alone else [],
        [row[1] if row[1] >= 0 else None for row in rows],
        metered.utilization,
        [row[4] for row in rows] if computed_alone else [],
    )
    yield from MemorySeen.of(setup.name, index, metered.memory)
    if setup.feed is not None:
        stalled = [row[3] if row[3] >= 0 else None for row in rows]
        yield from InputTimed.of(setup.name, index, [row[2] for row in rows], stalled)


def _moving_ns(ranks: Sequence[int], steps: int) -> int | None:
    """How long the data of a step waited for a core, on the rank where it waited longest; -1 = not known."""
    return max(ranks) // steps if min(ranks) >= 0 else None


def _stalled_ns(drawn: Sequence[InputWait]) -> int:
    """Mean of the steps without the longest wait, which may have been the first read of a file: workers that read
    ahead give several batches at once, then none for a while, so the median may be 0. -1 = not known."""
    stalled = [wait.stalled_ns for wait in drawn if wait.stalled_ns is not None]
    if len(stalled) < len(drawn):
        return -1
    return (sum(stalled) - max(stalled)) // max(1, len(stalled) - 1)


def _starved(setup: Setup, met: Lateness | None, timed: CoreTime) -> RankStarved | None:
    """The rank that lacked a core both in the steps in which ranks synchronized and in the timed steps."""
    if met is None:
        return None
    rows = setup.group.everybodys([*met.core_time, *timed])
    return starved.of([starved.parts(row) for row in rows])


def _report_pipeline(setup: Setup, flow: Flow | None, step: Step) -> None:
    if flow is not None:
        _report_flow(setup, flow)
        _report_passes(setup, flow, step)


def _report_flow(setup: Setup, flow: Flow) -> None:
    rows = setup.group.everybodys([flow.computing.ns(), flow.running.ns()])
    if setup.rank == 0:
        setup.channel.emit(
            Flowed(
                strategy=setup.name,
                ranks=flow.ranks,
                micro_batches=flow.micro_batches,
                stages=flow.stages,
                computing_ns=sum(row[0] for row in rows),
                running_ns=sum(row[1] for row in rows),
            )
        )


def _report_passes(setup: Setup, flow: Flow, step: Step) -> None:
    """What each rank computed when, in one more step that all begin together: their clocks differ."""
    tokens, group = setup.tokens(1), setup.group
    setup.slot.phase("timing")
    group.meet()
    flow.reset()
    step(tokens)
    group.settle()
    ranks = min(group.size, _DRAWN_RANKS)
    most = _DRAWN_PASSES // ranks
    mine = [number for span in flow.computing.spans()[:most] for number in span]
    rows = group.everybodys(mine + [-1] * (most * 5 - len(mine)))
    if setup.rank == 0:
        for rank, row in enumerate(rows[:ranks]):
            spans = zip(*[iter(number for number in row if number >= 0)] * 5, strict=True)
            setup.channel.emit(*Passed.of(setup.name, rank, list(spans)))


def _loop(setup: Setup, steps: int, *kinds: Step, waits: list[InputWait] | None = None) -> list[list[int]]:
    """Nanoseconds of each step on this rank, for each kind of step, which take turns. `waits`: takes what of the
    first kind's steps was waited for the input."""
    took: list[list[int]] = [[] for _ in kinds]
    for number in range(1, steps + 1):
        tokens, waited = setup.drawn(number)
        if waits is not None:
            waits.append(waited)
        for kind, times in zip(kinds, took, strict=True):
            setup.slot.phase("timing")
            begin = time.perf_counter_ns() - (waited.ns if waits is not None and kind is kinds[0] else 0)
            kind(tokens)
            setup.group.settle()
            times.append(time.perf_counter_ns() - begin)
    return took


def write_trace(strategy: Strategy, folder: Path) -> None:
    """A profiler trace of some more steps, after those that are timed: it would slow them."""
    setup, step = strategy.setup, stepper(strategy)
    drawing = contextlib.nullcontext() if setup.feed is None else record_function("nccltool input")
    setup.slot.phase("profiling")
    file = folder / trace_file(setup.name, setup.rank)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if setup.device.type == "cuda" else [])]
    setup.group.meet()
    with profile(activities=activities) as profiler:
        for number in range(1, _TRACED + 1):
            with record_function(f"nccltool step {number}"):
                with drawing:
                    tokens, _ = setup.drawn(number)
                step(tokens)
                setup.group.settle()
    # only now: the others need this rank's part of the steps
    setup.slot.phase("profiling", allowance_s=2 * _WRITTEN_S)
    there = FileThread()
    try:
        there.done(partial(_make_room, file), _WRITTEN_S)
        with tempfile.TemporaryDirectory() as scratch:  # the profiler writes without giving up
            written = Path(scratch, file.name)
            profiler.export_chrome_trace(str(written))
            there.done(partial(_put, written, file), _WRITTEN_S)
    except OSError as error:
        is_hung = isinstance(error, TimeoutError) and error.errno is None
        why = f"its file system did not accept it within {_WRITTEN_S:g} s" if is_hung else error.strerror or error
        setup.channel.report(
            PROFILE_NOT_WRITTEN.finding(
                subject=Subject(kind="file", name=str(file)),
                message=f"rank {setup.rank} could not write its profiler trace {file}: {why}",
                remedy="name a folder that every host can write to and that has free space",
            )
        )
    setup.slot.phase("between steps")


def _make_room(file: Path) -> None:
    """What an earlier run left is no trace of this one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)


def _put(written: Path, file: Path) -> None:
    """Half a trace shows other times than the steps had: there is a whole one or none."""
    try:
        shutil.copyfile(written, file)
    except OSError:
        with contextlib.suppress(OSError):
            file.unlink()
        raise


def stepper(strategy: Strategy) -> Step:
    """A whole step, as it is timed."""

    def step(tokens: Tensor) -> None:
        strategy.clear()
        strategy.forward_backward(tokens)
        strategy.reduce_gradients()
        strategy.unscale()
        strategy.update()

    return step


def can_compute_alone(strategy: Strategy) -> bool:
    """Not so a block again, with parameters that were cast for the first time only."""
    return strategy.WITHOUT_SYNC and not (strategy.setup.spec.recompute and strategy.setup.param_dtype)


def compute_only_step(setup: Setup) -> Step:
    """A rank's part of a data-parallel step without any communication: the yardstick of its timed steps."""
    spec = setup.spec
    model = transformer.make(spec).to(setup.device)
    optimizer = adamw.optimizer(spec, model) if adamw.is_asked_for(spec) else transformer.sgd(spec, model)
    scaler = Scaler(setup.device) if setup.is_half else None

    def step(tokens: Tensor) -> None:
        optimizer.zero_grad()
        accumulate = spec.of(DataParallelOptions).accumulate * setup.cut
        first = setup.rank * accumulate
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
    memory.give_back(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    with contextlib.suppress(OSError):  # then the peak is that of the whole life of the process
        Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return processes.peak_rss_bytes()
