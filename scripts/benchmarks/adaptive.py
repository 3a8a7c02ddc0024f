"""Does measuring until it is precise pay? Against a loop with a fixed count that is as precise on every size.

Two ranks, 12 sizes of all_reduce. For each size, in the same processes: a reference of 2,000 iterations, the
adaptive measurement, and a bare loop long enough to find the smallest count whose interval is as narrow. The
fixed loop needs 5 warm-ups and the largest of these counts on every size.
"""

import multiprocessing
import statistics
import tempfile
import time
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
    for size, count, seconds, needed, mean_s, off in rows:
        print(
            f"{format_bytes(size):>7}: adaptive {count:5} iterations, {seconds:6.2f} s; fixed needs {needed:5}"
            f" at {mean_s * 1e6:7.0f} us; median off the reference by {off * 100:.1f} %"
        )
    fixed = max(row[3] for row in rows) + WARM_UP
    share = sum(row[2] for row in rows) / sum(fixed * row[4] for row in rows)
    worst = max(row[5] for row in rows if row[0] >= MEDIAN_FROM)
    good: bool = share <= SHARE_TARGET and worst <= MEDIAN_TARGET
    print(f"adaptive takes {share:.2f} of the time of {fixed} fixed iterations (at most {SHARE_TARGET});")
    print(
        f"worst median {worst * 100:.1f} % off (at most {MEDIAN_TARGET * 100:.0f} %) {'ok' if good else 'MISSED'}"
    )
    return good


def _rank(rank: int, folder: str, said: Any) -> None:
    quiet.share_a_core()
    store = dist.FileStore(str(Path(folder) / "store"), WORLD)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=timedelta(seconds=300))
    for size in SIZES:
        row = _size(size)
        if rank == 0:
            said.send((size, *row))
    dist.destroy_process_group()


def _size(size: int) -> tuple[int, float, int, float, float]:
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
    reference = [ns / 1e9 for ns in prober.timer.batch(call, REFERENCE)]
    begin = time.perf_counter()
    samples = [ns / 1e9 for ns in prober.timer.measure(call, call)]
    seconds = time.perf_counter() - begin
    fixed = [ns / 1e9 for ns in prober.timer.batch(call, adapt.MAX_SAMPLES)]
    off = abs(statistics.median(samples) / statistics.median(reference) - 1)
    return len(samples), seconds, _needed(fixed), statistics.fmean(fixed), off


def _needed(samples: list[float]) -> int:
    """The smallest count (to a tenth) whose interval is narrow enough."""
    count = 20
    while count < len(samples):
        width = stats.relative_half_width(samples[:count])
        if width is not None and width <= PRECISION:
            return count
        count += max(count // 10, 1)
    return len(samples)
