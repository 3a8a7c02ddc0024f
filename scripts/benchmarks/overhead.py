"""Is a bandwidth of ours the one that a bare torch.distributed loop sees?

Both alternate inside the same two ranks, because single launches differ by 40 % on a shared machine. The
yardstick is the loop that a user would write: a tiny all-reduce, then n calls between two clock readings,
the slowest rank's time divided by n.
"""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from nccltool import collectives, plan
from nccltool.model import Job, Sizes
from nccltool.units import format_bytes
from nccltool.worker.board import Slot
from nccltool.worker.channel import Channel
from nccltool.worker.drill import Drill
from nccltool.worker.probe import Prober

WORLD = 2
SIZES = (8, 2**20, 2**22, 2**24)
ITERATIONS = {8: 100, 2**20: 20, 2**22: 10, 2**24: 5}
WARM_UP = 3
SECONDS_EACH = 4.0
"""Time for one operation at one size; as many rounds as fit."""
BUSBW_TARGET = 0.97
TIME_TARGET = 1.15

Call = Callable[[], Any]


def main() -> bool:
    """Print a row for each operation and size; whether all targets are met."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        results, said = context.Pipe(duplex=False)
        ranks = [context.Process(target=_rank, args=(rank, folder, said)) for rank in range(WORLD)]
        for rank in ranks:
            rank.start()
        good = [_show(*results.recv()) for _ in range(len(collectives.NAMES) * len(SIZES))]
        for rank in ranks:
            rank.join()
    return all(good)


def _show(op: str, size: int, bare_s: float, ratio: float, rounds: int) -> bool:
    small = size < 2**20
    good = ratio <= TIME_TARGET if small else 1 / ratio >= BUSBW_TARGET
    what = f"time {ratio:.3f} of the bare loop (at most {TIME_TARGET})"
    if not small:
        what = f"busbw {1 / ratio:.3f} of the bare loop (at least {BUSBW_TARGET})"
    verdict = "ok" if good else "MISSED"
    print(f"{op:15} {format_bytes(size):>7} bare {bare_s * 1e6:8.0f} us, {rounds:3} rounds: {what} {verdict}")
    return good


def _rank(rank: int, folder: str, said: Any) -> None:
    store = dist.FileStore(str(Path(folder) / "store"), WORLD)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=timedelta(seconds=120))
    for op in collectives.NAMES:
        for size in SIZES:
            sizes = Sizes(listed=(max(size, _smallest(op)),))
            job = Job(run_id="bench", ops=(op,), sizes=sizes)
            step = plan.steps(job, "gloo", WORLD)[0]
            bare_s, ratio, rounds = _alternate(job, step, ITERATIONS[size])
            if rank == 0:
                said.send((op, step.layout.bytes, bare_s, ratio, rounds))
    dist.destroy_process_group()


def _smallest(op: str) -> int:
    """The smallest size that nccl-tests' rounding to 16 bytes a rank leaves above zero."""
    whole = collectives.get(op).layout(2, WORLD, 4).bytes
    return 8 if whole else 16 * WORLD


def _alternate(job: Job, step: plan.Step, iterations: int) -> tuple[float, float, int]:
    """(bare seconds, ours / bare, rounds): each round runs both, in turns first and second.

    The ratio is the median over rounds of the ratio within a round: what disturbs the machine for longer than a
    round disturbs both.
    """
    prober = Prober(job, torch.device("cpu"), Slot(), Channel(1, None), Drill(None, dist.get_rank()))
    send, recv = prober.buffers(step)
    call, bare_call = prober.call(step, send, recv), _bare(step.op, send, recv)

    def ours() -> float:
        for _ in range(WARM_UP):
            call()
        samples = prober.timer.batch(call, iterations)
        return sum(samples) / len(samples) / 1e9

    def bare() -> float:
        return _loop(bare_call, iterations)

    round_s = bare() * (iterations + WARM_UP) * 2
    rounds = max(int(SECONDS_EACH / round_s) // 2 * 2, 4)

    def one_round(number: int) -> tuple[float, float]:
        if number % 2:
            return bare(), ours()
        ours_s = ours()
        return bare(), ours_s

    pairs = [one_round(number) for number in range(rounds)]
    bare_s = statistics.median(pair[0] for pair in pairs)
    return bare_s, statistics.median(pair[1] / pair[0] for pair in pairs), rounds


def _loop(call: Call, iterations: int) -> float:
    for _ in range(WARM_UP):
        call()
    dist.all_reduce(torch.zeros(1))
    begin = time.perf_counter()
    for _ in range(iterations):
        call()
    slowest = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return float(slowest) / iterations


def _bare(op: str, send: torch.Tensor, recv: torch.Tensor) -> Call:
    """The operation as a user would write it."""
    me, other = dist.get_rank(), 1 - dist.get_rank()
    parts = list((recv if op == "gather" else send).chunk(WORLD)) if me == 0 else None

    def ring() -> None:
        works = [dist.isend(send, other), dist.irecv(recv, other)]
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
