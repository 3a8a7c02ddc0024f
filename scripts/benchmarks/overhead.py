"""Is a bandwidth of ours the one that a bare torch.distributed loop sees?

Two answers. What our wrapper and clock cost an iteration is measured alone, with a call that does nothing, and is
exact to some tens of nanoseconds. What the whole costs is compared in the same two ranks, call by call, because
the means of two stretches of one loop differ by 20 % on a shared machine: the call that a user would write and
ours take turns in one stream, read by one clock, and each pair of neighbours is a comparison. Iteration i ends
when the slowest rank has ended it. A comparison has a 95 % interval, and a row that holds the target neither
inside nor outside of it says so.
"""

import itertools
import math
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy
import torch
import torch.distributed as dist

from benchmarks import extent, quiet
from nccltool.core.units import format_bytes
from nccltool.probe import collectives, plan
from nccltool.probe.job import ProbeJob, Sizes
from nccltool.worker.channel import Channel
from nccltool.worker.probe.step import Prober, ToRunner
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools

WORLD = 2
SIZES = extent.of((8, 2**20, 2**22, 2**24), (8, 2**20))
WARM_UP = 20
SECONDS = extent.of({8: 3.0, 2**20: 3.0, 2**22: 8.0, 2**24: 12.0}, {8: 0.1, 2**20: 0.1})
"""Time for one operation at one size; as many pairs as fit."""
LEAST_PAIRS, BATCH = 20, 200
BUSBW_TARGET = 0.98
TIME_TARGET = 1.10
RESAMPLES = 500
OWN_LOOPS, OWN_CALLS = extent.of(200, 2), 100

Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One operation at one size."""

    op: str
    bytes: int
    bare_s: float
    logs: tuple[float, ...]
    """log(ours / bare) of each pair."""
    own_s: float
    """What our wrapper and clock take of an iteration."""


def main() -> bool:
    """Print a row for each operation and size, and each size over all operations; whether no target is missed."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        results, said = context.Pipe(duplex=False)
        ranks = [context.Process(target=_rank, args=(rank, folder, said)) for rank in range(WORLD)]
        for rank in ranks:
            rank.start()
        rows = []
        for _ in range(len(collectives.NAMES) * len(SIZES)):
            rows.append(Row(*results.recv()))
            show(rows[-1].op, rows[-1])
        for rank in ranks:
            rank.join()
    verdicts = [show("all operations", *[row for row in rows if _nominal(row) == size]) for size in SIZES]
    verdicts += [show(row.op, row, quiet=True) for row in rows]
    return "MISSED" not in verdicts


def _nominal(row: Row) -> int:
    return min(SIZES, key=lambda size: abs(size - row.bytes))


def show(name: str, *rows: Row, quiet: bool = False) -> str:
    """Print what the rows say together; the verdict."""
    low, middle, high = (math.exp(value) for value in interval([row.logs for row in rows]))
    bytes_, bare_s = rows[0].bytes, statistics.median(row.bare_s for row in rows)
    own = max(row.own_s / row.bare_s for row in rows)
    if bytes_ >= 2**20:
        what, target = "busbw", f"at least {BUSBW_TARGET}"
        low, middle, high = 1 / high, 1 / middle, 1 / low
        verdict = "ok" if low >= BUSBW_TARGET else "MISSED" if high < BUSBW_TARGET else "cannot tell"
    else:
        what, target = "time", f"at most {TIME_TARGET}"
        verdict = "ok" if high <= TIME_TARGET else "MISSED" if low > TIME_TARGET else "cannot tell"
    if not quiet:
        print(
            f"{name:15} {format_bytes(bytes_):>7} bare {bare_s * 1e6:7.0f} us, {len(rows[0].logs):5} pairs: "
            f"{what} {middle:.3f} [{low:.3f}, {high:.3f}] of it ({target}) {verdict}; our own part {own:.2%}"
        )
    return verdict


def interval(groups: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Mean over groups of the median in each, and its 95 % interval by bootstrap within the groups."""
    generator = numpy.random.default_rng(0)
    drawn = [
        numpy.median(generator.choice(numpy.array(group), (RESAMPLES, len(group))), axis=1) for group in groups
    ]
    means = numpy.mean(drawn, axis=0)
    low, high = numpy.quantile(means, (0.025, 0.975))
    return float(low), float(numpy.mean([numpy.median(group) for group in groups])), float(high)


def _rank(rank: int, folder: str, said: Any) -> None:
    quiet.share_a_core()
    store = dist.FileStore(str(Path(folder) / "store"), WORLD)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=timedelta(seconds=120))
    for op in collectives.NAMES:
        for size in SIZES:
            sizes = Sizes(listed=(max(size, _smallest(op)),))
            job = ProbeJob(run_id="bench", ops=(op,), sizes=sizes)
            step = plan.steps(job, "gloo", WORLD)[0]
            bare_s, logs, own_s = alternate(job, step, SECONDS[size])
            if rank == 0:
                said.send((op, step.layout.bytes, bare_s, logs, own_s))
    dist.destroy_process_group()


def _smallest(op: str) -> int:
    """The smallest size that nccl-tests' rounding to 16 bytes a rank leaves above zero."""
    whole = collectives.get(op).layout(2, WORLD, 4).bytes
    return 8 if whole else 16 * WORLD


def alternate(job: ProbeJob, step: plan.Step, seconds: float) -> tuple[float, tuple[float, ...], float]:
    """(bare seconds, log(ours / bare) of each pair, our own seconds)."""
    injector = FaultInjector(None, dist.get_rank())
    tools = RankTools(torch.device("cpu"), ProgressPage(), Channel(1, None), injector)
    prober = Prober(job, tools, ToRunner(job, tools))
    send, recv = prober.buffers(step)
    ours, bare = prober.call(step, send, recv), _bare(step.op, send, recv)
    begin = time.perf_counter()
    _pairs(prober, bare, ours, WARM_UP)
    pair_s = prober.timer.group.maximum([int((time.perf_counter() - begin) * 1e9)])[0] / 1e9 / WARM_UP
    wanted = max(int(seconds / pair_s), LEAST_PAIRS)
    batches = [min(BATCH, wanted)] * math.ceil(wanted / BATCH)
    pairs = [pair for count in batches for pair in _pairs(prober, bare, ours, count)]
    bare_s = statistics.median(pair[0] for pair in pairs) / 1e9
    return bare_s, tuple(math.log(pair[1] / pair[0]) for pair in pairs), _own_s(prober)


def _pairs(prober: Prober, bare: Call, ours: Call, count: int) -> list[tuple[int, int]]:
    """Nanoseconds over both ranks of neighbours (bare, ours), first the one, then the other first."""
    turns = itertools.cycle([bare, ours, ours, bare])
    took = prober.timer.batch(lambda: next(turns)(), 2 * (count + 2))
    both = zip(took[::2], took[1::2], strict=True)
    turned = [pair if number % 2 == 0 else pair[::-1] for number, pair in enumerate(both)]
    return turned[1:-1]  # the first and the last call of a stream overlap with one neighbour only


def _own_s(prober: Prober) -> float:
    """What the wrapper around a call and the clock take of an iteration: the least of many loops over nothing."""
    wrapped = prober.timer.group.guarded(lambda: None)
    empty = _least_s(lambda: None)
    with_clock = min(prober.timer.clock.offsets(wrapped, OWN_CALLS).ns[-1] for _ in range(OWN_LOOPS))
    return max(with_clock / 1e9 / OWN_CALLS - empty, 0.0)


def _least_s(call: Call) -> float:
    def once() -> float:
        begin = time.perf_counter()
        for _ in range(OWN_CALLS):
            call()
        return time.perf_counter() - begin

    return min(once() for _ in range(OWN_LOOPS)) / OWN_CALLS


def _bare(op: str, send: torch.Tensor, recv: torch.Tensor) -> Call:
    """The operation as a user would write it."""
    me, other = dist.get_rank(), 1 - dist.get_rank()
    parts = list((recv if op == "gather" else send).chunk(WORLD)) if me == 0 else None

    def ring() -> None:
        works = [dist.irecv(recv, other), dist.isend(send, other)]
        for work in works:
            work.wait()

    def ping_pong() -> None:
        if me == 0:
            dist.send(send, other)
            dist.recv(recv, other)
        else:
            dist.recv(recv, other)
            dist.send(send, other)

    calls: dict[str, Call] = {
        "all_reduce": lambda: dist.all_reduce(recv),
        "all_gather": lambda: dist.all_gather_single(recv, send),
        "reduce_scatter": lambda: dist.reduce_scatter_single(recv, send),
        "broadcast": lambda: dist.broadcast(recv, 0),
        "reduce": lambda: dist.reduce(recv, 0),
        "gather": lambda: dist.gather(send, parts, 0),
        "scatter": lambda: dist.scatter(recv, parts, 0),
        "all_to_all": lambda: dist.all_to_all_single(recv, send),
        "send_recv": ring,
        "ping_pong": ping_pong,
    }
    return calls[op]
