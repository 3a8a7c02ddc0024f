"""Does measuring until it is precise pay? Against a loop with a fixed count that is as precise on every size.

Two ranks, 12 sizes of all_reduce. For each size, in the same processes: half of a reference of 2,000 iterations,
the adaptive measurement, the other half, and a bare loop that is long enough to begin a run with a fixed count at
20 of its places. Place k of all sizes together is one such run. The smallest count is looked for with which 19
runs of 20 have an interval as narrow on every size: the adaptive measurement always has it, and a count that has it
now and then is no match. The fixed loop needs 5 warm-ups and that count on each size.
Where the halves of the reference are further apart than the target, the machine changed: the row says nothing.
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

from benchmarks import quiet
from nccltool import adapt, plan, stats
from nccltool.model import Job, Sizes
from nccltool.units import format_bytes
from nccltool.worker.board import Slot
from nccltool.worker.channel import Channel
from nccltool.worker.drill import Drill
from nccltool.worker.probe import Prober

WORLD = 2
SIZES = tuple(2**power for power in range(10, 22))
PRECISION = 0.02
BUDGET_S = 20.0
REFERENCE = 2000
WARM_UP = 5
SHARE_TARGET = 0.6
MEDIAN_TARGET = 0.02
MEDIAN_FROM = 64 * 2**10
FIXED = 8000
RUNS, PRECISE_RUNS = 20, 19
STEADY_ROWS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One size."""

    size: int
    count: int
    """Iterations of the adaptive measurement."""
    seconds: float
    """What they took, with the warm-up."""
    fixed: list[float]
    """Seconds of each iteration of the bare loop."""
    off: float
    drift: float


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
    for row in rows:
        print(
            f"{format_bytes(row.size):>7}: adaptive {row.count:5} iterations, {row.seconds:6.2f} s; bare loop "
            f"{statistics.fmean(row.fixed) * 1e6:7.0f} us; median {row.off:.1%} off the reference, whose halves "
            f"are {row.drift:.1%} apart" + (": it changed" if row.drift > MEDIAN_TARGET else "")
        )
    steady = [row for row in rows if row.drift <= MEDIAN_TARGET]
    if len(steady) < STEADY_ROWS:
        print(f"only {len(steady)} of {len(rows)} sizes had a steady machine: cannot tell")
        return True
    fixed = WARM_UP + _needed([row.fixed for row in steady])
    share = sum(row.seconds for row in steady) / sum(fixed * statistics.fmean(row.fixed) for row in steady)
    worst = max((row.off for row in steady if row.size >= MEDIAN_FROM), default=0.0)
    good = share <= SHARE_TARGET and worst <= MEDIAN_TARGET
    print(
        f"{len(steady)} steady sizes: adaptive takes {share:.2f} of the time of {fixed} fixed iterations (at most "
        f"{SHARE_TARGET}); worst median {worst:.1%} off (at most {MEDIAN_TARGET:.0%}) {'ok' if good else 'MISSED'}"
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
    job = Job(
        run_id="bench",
        ops=("all_reduce",),
        sizes=Sizes(listed=(size,)),
        precision=PRECISION,
        budget_s=BUDGET_S,
    )
    prober = Prober(job, torch.device("cpu"), Slot(), Channel(1, None), Drill(None, dist.get_rank()))
    step = plan.steps(job, "gloo", WORLD)[0]
    send, recv = prober.buffers(step)
    call = prober.call(step, send, recv)

    def times(count: int) -> list[float]:
        return [ns / 1e9 for ns in prober.timer.batch(call, count)]

    before = times(REFERENCE // 2)
    begin = time.perf_counter()
    samples = [ns / 1e9 for ns in prober.timer.measure(call, call)]
    seconds = time.perf_counter() - begin
    after = times(REFERENCE // 2)
    fixed = times(FIXED)
    middle = statistics.median([*before, *after])
    return Row(
        size=size,
        count=len(samples),
        seconds=seconds,
        fixed=fixed,
        off=abs(statistics.median(samples) / middle - 1),
        drift=abs(statistics.median(before) / statistics.median(after) - 1),
    )


def _needed(loops: list[list[float]]) -> int:
    """The smallest count (to a tenth) that is precise on every size in PRECISE_RUNS of RUNS.

    At that count, not at the first one on the way to it: who fixes a count does not look while it runs.
    """
    count = adapt.FIRST_BATCH
    while count < FIXED // 2:
        begins = [run * (FIXED - count) // (RUNS - 1) for run in range(RUNS)]
        if sum(_precise(loops, begin, count) for begin in begins) >= PRECISE_RUNS:
            return count
        count += max(count // 10, 1)
    return count


def _precise(loops: list[list[float]], begin: int, count: int) -> bool:
    widths = (stats.relative_half_width(loop[begin : begin + count]) for loop in loops)
    return all(width is not None and width <= PRECISION for width in widths)
