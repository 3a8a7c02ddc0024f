"""Is the throughput of `nccltool train ddp` the one that a bare loop over torch's DDP sees?

Both train the same model on the same batches in the same two ranks on one core, in turns, two steps each; the
slowest rank's time counts. Ours is the step that `train` times, with its notes on the board; the yardstick is the
loop that a user would write. Where a model happens to lie in memory is worth a percent or two, so both are built
anew, in turns first and second, for each block of rounds. The ratio has a 95 % interval. What our notes on the
board cost a step is measured alone too, and is exact to some microseconds.
"""

import math
import multiprocessing
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from benchmarks import extent, quiet
from benchmarks.overhead import interval
from nccltool.train.job import TrainSpec
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import strategies, transformer
from nccltool.worker.train.strategies.base import Setup
from nccltool.worker.train.timed_steps import Step, stepper

WORLD = 2
BLOCKS = extent.of(10, 1)
ROUNDS = extent.of(40, 2)
"""In each block."""
STEPS = 2
WARM_UP = 4
TARGET = 0.97
OWN = extent.of(500, 2)
SPEC = TrainSpec(strategies=("ddp",))


def main() -> bool:
    """Print one line; whether the target is not missed."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        results, said = context.Pipe(duplex=False)
        ranks = [context.Process(target=_rank, args=(rank, folder, said)) for rank in range(WORLD)]
        for rank in ranks:
            rank.start()
        bare_s, logs, own_s = results.recv()
        for rank in ranks:
            rank.join()
    low, middle, high = (math.exp(-value) for value in reversed(interval([logs])))
    verdict = "ok" if low >= TARGET else "MISSED" if high < TARGET else "cannot tell"
    rate = SPEC.batch * WORLD / bare_s
    print(
        f"ddp, {WORLD} ranks, bare {bare_s * 1e3:.1f} ms a step ({rate:.0f} samples/s), {len(logs)} rounds: "
        f"throughput {middle:.4f} [{low:.4f}, {high:.4f}] of it (at least {TARGET}) {verdict}; "
        f"our own part {own_s / bare_s:.2%}"
    )
    return verdict != "MISSED"


def _rank(rank: int, folder: str, said: Any) -> None:
    quiet.share_a_core()
    store = dist.FileStore(str(Path(folder) / "store"), WORLD)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=timedelta(seconds=120))
    tools = RankTools(torch.device("cpu"), ProgressPage(), Channel(1, None), FaultInjector(None, rank))
    setup = Setup("ddp", SPEC, tools)
    pairs: list[tuple[float, float]] = []
    for block in range(BLOCKS):
        if block % 2:
            bare = _bare(rank)
            ours = stepper(strategies.build(setup))
        else:
            ours = stepper(strategies.build(setup))
            bare = _bare(rank)
        pairs += _block(ours, bare)
    own_s = _own_s(setup)
    if rank == 0:
        bare_s = statistics.median(bare_s for _, bare_s in pairs)
        said.send((bare_s, [math.log(ours_s / bare_s) for ours_s, bare_s in pairs], own_s))
    dist.destroy_process_group()


def _block(ours: Step, bare: Step) -> list[tuple[float, float]]:
    """Seconds of a step of ours and of the bare loop in each round, which take turns in being first."""
    for step in (ours, bare):
        _stretch(step, WARM_UP)
    pairs = []
    for number in range(ROUNDS):
        if number % 2:
            bare_s = _stretch(bare, STEPS)
            pairs.append((_stretch(ours, STEPS), bare_s))
        else:
            ours_s = _stretch(ours, STEPS)
            pairs.append((ours_s, _stretch(bare, STEPS)))
    return pairs


def _own_s(setup: Setup) -> float:
    """What noting the phases of a step costs, alone: the least of many."""

    def notes() -> float:
        begin = time.perf_counter()
        with setup.communicating("forward"), setup.lower():
            pass
        setup.computing("between forward and backward")
        with setup.communicating("backward"):
            pass
        setup.computing("updating")
        return time.perf_counter() - begin

    return min(notes() for _ in range(OWN))


def _bare(rank: int) -> Step:
    """A step as a user would write it."""
    model = DistributedDataParallel(transformer.make(SPEC))
    optimizer = torch.optim.SGD(model.parameters(), lr=SPEC.learning_rate)

    def step(tokens: Tensor) -> None:
        optimizer.zero_grad()
        mine = tokens.chunk(WORLD)[rank]
        transformer.loss_of(model(mine[:, :-1]), mine[:, 1:]).backward()
        optimizer.step()

    return step


def _stretch(step: Step, steps: int) -> float:
    """Seconds of a step, of the slowest rank."""
    batches = [transformer.tokens_of(SPEC, number, SPEC.batch * WORLD) for number in range(steps)]
    dist.all_reduce(torch.zeros(1))
    begin = time.perf_counter()
    for tokens in batches:
        step(tokens)
    slowest = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return float(slowest) / steps
