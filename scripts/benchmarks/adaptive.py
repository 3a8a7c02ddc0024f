"""Does measuring until it is precise pay? Against a loop with a fixed count that is as precise on every size.

Two ranks, 12 sizes of all_reduce. For each size, in the same processes: five adaptive measurements between six
stretches of a bare loop. The median of each is held against the two stretches beside it, 2,000 iterations; where
these are further apart than the target, the machine changed, and that median says nothing. Then a bare loop, so
long that a run with a fixed count can begin at 20 of its places. Place k of all sizes together is one such run.
The smallest count is looked for with which 19 runs of 20 have an interval as narrow on every size: the adaptive
measurement has it as often, and a count that has it now and then is no match. The fixed loop needs 5 warm-ups and
that count on each size.

Of 95 % intervals 5 % miss: 19 of 20 medians must be within the target, and the typical one of each size.
"""

import multiprocessing
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from benchmarks import extent, quiet
from nccltool.core import statistics as core_statistics
from nccltool.core.units import format_bytes
from nccltool.probe import plan, stopping
from nccltool.probe.job import ProbeJob, Sizes
from nccltool.worker.channel import Channel
from nccltool.worker.probe.step import Prober, ToRunner
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools

WORLD = 2
SIZES = extent.of(tuple(2**power for power in range(10, 22)), (2**10, 2**16))
PRECISION = 0.02
BUDGET_S = extent.of(20.0, 0.2)
REFERENCE = extent.of(2000, 40)
WARM_UP = 5
SHARE_TARGET = 0.6
MEDIAN_TARGET = 0.02
MEDIAN_FROM = 64 * 2**10
FIXED = extent.of(8000, 400)
RUNS, PRECISE_RUNS = 20, 19
TRIES, STEADY_TRIES = extent.of((5, 3), (1, 1))
STEADY_ROWS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Try:
    """One adaptive measurement."""

    count: int
    seconds: float
    """What it took, with the warm-up."""
    is_precise: bool
    """The interval, and not the budget or the largest count, ended it."""
    off: float
    """Of the median from that of the bare loop on both sides, relative."""
    drift: float
    """How far apart these sides are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One size."""

    size: int
    tries: list[Try]
    fixed: list[float]
    """Seconds of each iteration of the bare loop."""

    @property
    def seconds(self) -> float:
        """What a measurement took."""
        return statistics.fmean(each.seconds for each in self.tries)

    @property
    def offs(self) -> list[float]:
        """How far off the medians on a steady machine are."""
        return [each.off for each in self.tries if each.drift <= MEDIAN_TARGET]

    def __str__(self) -> str:
        counts = " ".join(f"{each.count:4}" for each in self.tries)
        offs = " ".join(f"{each:.1%}" for each in self.offs)
        return (
            f"{format_bytes(self.size):>7}: bare loop {statistics.fmean(self.fixed) * 1e6:6.0f} us; adaptive "
            f"{self.seconds:5.2f} s, iterations {counts}; medians off by {offs or '?'}"
            + (f", {TRIES - len(self.offs)} beside loops that differ" if len(self.offs) < TRIES else "")
        )


def main() -> bool:
    """Print a row a size and the sum; whether both targets are met."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        results, said = context.Pipe(duplex=False)
        ranks = [context.Process(target=_rank, args=(rank, folder, said)) for rank in range(WORLD)]
        for rank in ranks:
            rank.start()
        rows = [results.recv() for _ in SIZES]
        for rank in ranks:
            rank.join()
    print(*rows, sep="\n")
    return _is_cheaper(rows) & _is_true([row for row in rows if row.size >= MEDIAN_FROM])


def _is_cheaper(rows: list[Row]) -> bool:
    fixed = WARM_UP + _needed([row.fixed for row in rows])
    share = sum(row.seconds for row in rows) / sum(fixed * statistics.fmean(row.fixed) for row in rows)
    tries = [each for row in rows for each in row.tries]
    precise = sum(each.is_precise for each in tries)
    good = share <= SHARE_TARGET and precise * RUNS >= PRECISE_RUNS * len(tries)  # as often as the fixed count
    print(
        f"{precise} of {len(tries)} adaptive measurements reached {PRECISION:.0%}, in {share:.2f} of the time of "
        f"{fixed}{' and more' if fixed > FIXED // 2 else ''} fixed iterations (at most {SHARE_TARGET}) "
        f"{'ok' if good else 'MISSED'}"
    )
    return good


def _is_true(large: list[Row]) -> bool:
    known = [row for row in large if len(row.offs) >= STEADY_TRIES]
    if len(known) < STEADY_ROWS:
        print(f"only {len(known)} of {len(large)} sizes from {format_bytes(MEDIAN_FROM)} on: cannot tell")
        return True
    offs = [off for row in known for off in row.offs]
    within = sum(off <= MEDIAN_TARGET for off in offs)
    worst = max(statistics.median(row.offs) for row in known)
    good = worst <= MEDIAN_TARGET and within * RUNS >= PRECISE_RUNS * len(offs)
    print(
        f"{within} of {len(offs)} medians of {len(known)} sizes within {MEDIAN_TARGET:.0%} (at least "
        f"{PRECISE_RUNS} of {RUNS}), the typical one of the worst size {worst:.1%} off "
        f"(at most {MEDIAN_TARGET:.0%}) {'ok' if good else 'MISSED'}"
    )
    return good


def _rank(rank: int, folder: str, said: Any) -> None:
    quiet.share_a_core()
    store = dist.FileStore(str(Path(folder) / "store"), WORLD)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=timedelta(seconds=300))
    for size in SIZES:
        row = _size(size)
        if rank == 0:
            said.send(row)
    dist.destroy_process_group()


def _size(size: int) -> Row:
    job = ProbeJob(
        run_id="bench",
        ops=("all_reduce",),
        sizes=Sizes(listed=(size,)),
        precision=PRECISION,
        budget_s=BUDGET_S,
    )
    injector = FaultInjector(None, dist.get_rank())
    tools = RankTools(torch.device("cpu"), ProgressPage(), Channel(1, None), injector)
    prober = Prober(job, tools, ToRunner(job, tools))
    step = plan.steps(job, "gloo", WORLD)[0]
    send, recv = prober.buffers(step)
    call = prober.call(step, send, recv)

    def times(count: int) -> list[float]:
        return [ns / 1e9 for ns in prober.timer.batch(call, count)]

    def measured() -> tuple[list[float], float]:
        begin = time.perf_counter()
        samples = prober.timer.measure(call, call).ns
        return [ns / 1e9 for ns in samples], time.perf_counter() - begin

    sides, tries = [times(REFERENCE // 2)], []
    for _ in range(TRIES):
        samples, seconds = measured()
        sides.append(times(REFERENCE // 2))
        before, after = sides[-2:]
        tries.append(
            Try(
                count=len(samples),
                seconds=seconds,
                is_precise=(core_statistics.relative_half_width(samples) or 0.0) <= PRECISION,
                off=abs(statistics.median(samples) / statistics.median([*before, *after]) - 1),
                drift=abs(statistics.median(before) / statistics.median(after) - 1),
            )
        )
    return Row(size=size, tries=tries, fixed=times(FIXED))


def _needed(loops: list[list[float]]) -> int:
    """The smallest count (to a tenth) that is precise on every size in PRECISE_RUNS of RUNS.

    At that count, not at the first one on the way to it: who fixes a count does not look while it runs.
    """
    count = stopping.FIRST_BATCH
    while count < FIXED // 2:
        begins = [run * (FIXED - count) // (RUNS - 1) for run in range(RUNS)]
        if sum(_precise(loops, begin, count) for begin in begins) >= PRECISE_RUNS:
            return count
        count += max(count // 10, 1)
    return count


def _precise(loops: list[list[float]], begin: int, count: int) -> bool:
    widths = (core_statistics.relative_half_width(loop[begin : begin + count]) for loop in loops)
    return all(width is not None and width <= PRECISION for width in widths)
