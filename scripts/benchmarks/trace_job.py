"""A training job with a profiler, as users write it, in one state after the other; each leaves a trace per rank.

torchrun --standalone --nproc-per-node 4 trace_job.py DIR STATE...

A STATE is NAME=KIND[:VALUE...]: healthy=healthy, a=input:SECONDS, b=input:SECONDS:RANK, c=sleep:SECONDS:RANK,
d=work:SECONDS:RANK, e=network:RATE (of the loopback: in a network namespace of its own).
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, Dataset

WIDTH, DEPTH, BATCH = 256, 4, 512
WARM_UP, STEPS = 2, 12


class Batches(Dataset):  # type: ignore[misc]  # torch is not read by mypy
    """Batches of a storage that takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return WARM_UP + STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.full((BATCH, WIDTH), float(index % 7))


def train(folder: Path, name: str, kind: str, seconds: float, is_mine: bool) -> None:
    """Some steps in one state, the last ones with a profiler."""
    loader = DataLoader(Batches(seconds * (kind == "input" and is_mine)), batch_size=None)
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(DEPTH)))
    model = nn.parallel.DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    file = str(folder / name / f"rank{dist.get_rank()}.json.gz")
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(file),
    ) as profiler:
        for batch in loader:
            model(batch).square().mean().backward()
            if is_mine and kind in ("sleep", "work"):
                stall(seconds, is_busy=kind == "work")
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()


def stall(seconds: float, *, is_busy: bool) -> None:
    """A rank that waits for something else, or has more to compute."""
    if not is_busy:
        time.sleep(seconds)
        return
    until, matrix = time.monotonic() + seconds, torch.ones(WIDTH, WIDTH)
    while time.monotonic() < until:
        torch.mm(matrix, matrix)


@contextmanager
def slow_network(rate: str) -> Iterator[None]:
    """Of all ranks: one of them shapes the loopback, which they share."""
    dist.barrier()
    if rate and dist.get_rank() == 0:
        tc("add", "tbf", "rate", rate, "burst", "128kb", "latency", "2s")
    dist.barrier()
    yield
    dist.barrier()
    if rate and dist.get_rank() == 0:
        tc("del")
    dist.barrier()


def tc(what: str, *words: str) -> None:
    subprocess.run(["tc", "qdisc", what, "dev", "lo", "root", *words], check=True, timeout=30)


def main() -> None:
    folder, *states = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for state in states:
        name, _, told = state.partition("=")
        kind, *values = told.split(":")
        Path(folder, name).mkdir(exist_ok=True)
        rank = int(values[1]) if len(values) > 1 else None
        seconds = 0.0 if kind == "network" or not values else float(values[0])
        with slow_network(values[0] if kind == "network" else ""):
            train(Path(folder), name, kind, seconds, rank in (None, dist.get_rank()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
