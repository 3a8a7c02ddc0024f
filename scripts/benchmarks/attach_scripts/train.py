"""A small training job as users write them: DDP, FSDP, or a pipeline over Gloo, with ways to go wrong by itself.

torchrun --standalone --nproc-per-node 4 train.py ddp --dir DIR [--fault NAME --rank R --at STEP]

It writes DIR/step.<rank> with its step, so that a trial knows when the fault has come.
"""

import argparse
import atexit
import contextlib
import ctypes
import importlib
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

WIDTH, DEPTH, BATCH = 64, 4, 8


class Samples(Dataset):  # type: ignore[misc]  # torch is not read by mypy
    """Samples; of one rank, from some index on, they are in a file that nobody fills."""

    def __init__(self, fifo: str, bad_from: int, seconds: float) -> None:
        self.fifo, self.bad_from, self.seconds = fifo, bad_from, seconds

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.fifo and index >= self.bad_from:
            with Path(self.fifo).open("rb") as file:
                file.read(4)
        if self.seconds:
            time.sleep(self.seconds)
        return torch.full((WIDTH,), float(index % 7))


class SlowDisk:
    """A file object on a disk that takes little at a time, or nothing after the first bytes."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).open("wb", buffering=0)  # noqa: SIM115

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        for start in range(0, len(view), 65536):
            self.file.write(view[start : start + 65536])
        return len(view)

    def flush(self) -> None:
        pass


def model_of(strategy: str) -> nn.Module:
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(DEPTH)))
    if strategy == "ddp":
        return nn.parallel.DistributedDataParallel(layers)
    if strategy == "fsdp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in layers:
            fully_shard(layer, mesh=mesh)
        return fully_shard(layers, mesh=mesh)
    return layers


def pipeline_step(stage: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> None:
    """Each rank is a stage: activations go up, gradients come down."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    received = batch
    if rank:
        received = torch.empty(BATCH, WIDTH)
        dist.recv(received, rank - 1)
    received.requires_grad_()
    out = stage(received)
    if rank < last:
        dist.send(out.detach(), rank + 1)
        gradient = torch.empty(BATCH, WIDTH)
        dist.recv(gradient, rank + 1)
        out.backward(gradient)
    else:
        out.square().mean().backward()
    if rank:
        dist.send(received.grad, rank - 1)
    optimizer.step()
    optimizer.zero_grad()


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> None:
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def accumulated_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor, times: int, step_s: float
) -> None:
    """Gradients of several batches, and one exchange of them."""
    for number in range(times):
        is_last = number == times - 1
        if hasattr(model, "set_requires_gradient_sync"):
            model.set_requires_gradient_sync(is_last)
        with contextlib.nullcontext() if is_last or not hasattr(model, "no_sync") else model.no_sync():
            spin(step_s)
            model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def evaluate_forever() -> None:
    """User code that waits for something else."""
    while True:
        time.sleep(1)


def compute_forever() -> None:
    """User code that is busy."""
    total = 0
    while True:
        total = (total * 31 + 7) % 1_000_003


def spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def save(model: nn.Module, options: argparse.Namespace, rank: int) -> None:
    """A checkpoint of one rank, while the others wait at the barrier behind it."""
    if rank == options.rank:
        state = {"model": model.state_dict(), "more": torch.zeros(options.mib << 18)}
        torch.save(state, SlowDisk(f"{options.dir}/disk"))
    dist.barrier()


def go_wrong(model: nn.Module, options: argparse.Namespace, step: int) -> bool:
    """What the fault does at its step; True = this rank ends its loop."""
    fault, is_the_one = options.fault, dist.get_rank() == options.rank
    if fault == "checkpoint":
        save(model, options, dist.get_rank())
    elif fault == "order":
        wrong_order(is_the_one)
    elif fault == "size":
        wrong_size(is_the_one)
    elif fault == "store":
        dist.new_group(list(range(dist.get_world_size())))
    elif is_the_one:
        return alone(options)
    elif fault == "new-group":
        dist.new_group([0, 1])
    elif fault == "barrier":
        dist.barrier()
    elif fault == "async":
        work = dist.all_reduce(torch.ones(4), async_op=True)
        work.wait()
    elif fault == "gather-object":
        dist.all_gather_object([None] * dist.get_world_size(), {"step": step})
    return False


def wrong_order(is_the_one: bool) -> None:
    first, second = torch.ones(4), torch.ones(4)
    if is_the_one:
        dist.broadcast(second, 0)
        dist.all_reduce(first)
    else:
        dist.all_reduce(first)
        dist.broadcast(second, 0)


def wrong_size(is_the_one: bool) -> None:
    """Gloo sends segments of 1 MiB: the larger tensor has more of them, and its rank waits for the rest."""
    segments = (3 if is_the_one else 2) * dist.get_world_size()
    dist.all_reduce(torch.ones(segments << 18))


def compile_forever() -> None:
    """Each shape is another graph, as with batches whose length varies."""
    for number in range(1, 1 << 20):
        torch._dynamo.reset()
        torch.compile(sum_of)(torch.ones(1000 + number))


def sum_of(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * x.shape[0] + x.cos()).relu().sum()


def alone(options: argparse.Namespace) -> bool:
    """What only the faulty rank does."""
    fault = options.fault
    if fault in ("sleep", "new-group", "barrier", "async", "gather-object"):
        evaluate_forever()
    elif fault == "busy":
        compute_forever()
    elif fault == "gil":
        ctypes.PyDLL(None).sleep(100_000)
    elif fault == "batches":
        return True
    elif fault == "exit":
        os._exit(3)
    elif fault == "imports":
        sys.path.insert(0, options.dir)
        importlib.import_module("storm")
    elif fault == "compile":
        compile_forever()
    elif fault == "lock":
        import queue

        queue.Queue().get()
    return False


def log_step(step: int, began: float) -> float:
    """What trainers print: the step, and how long it took."""
    now = time.monotonic()
    if dist.get_rank() == 0:
        print(f"step {step}, time: {now - began:.4f} s", flush=True)
    return now


def work_s(options: argparse.Namespace, step: int, rank: int) -> float:
    """How long a rank computes in this step: batches differ in length, between ranks or for all of them."""
    usual = float(options.step_s)
    if options.uneven == "ranks":
        return usual * random.Random(f"{step} {rank}").lognormvariate(0, 0.5)
    if options.uneven == "steps":
        return usual * random.Random(f"{step // 20}").uniform(0.5, 2)
    return usual


def beside_steps(model: nn.Module, options: argparse.Namespace, step: int, rank: int) -> None:
    """What healthy jobs do now and then: evaluate, and write checkpoints."""
    if not step or step % options.every:
        return
    if options.evaluate == "all":
        evaluate(options.beside_s)
    elif options.evaluate == "first":
        if rank == 0:
            evaluate(options.beside_s)
        dist.barrier()
    if options.save:
        if rank == 0:
            torch.save({"model": model.state_dict(), "more": torch.zeros(64 << 18)}, f"{options.dir}/saved")
        dist.barrier()


def evaluate(seconds: float) -> None:
    """Without the other ranks."""
    held_out, weights = torch.ones(BATCH, WIDTH), torch.ones(WIDTH, WIDTH)
    until = time.monotonic() + seconds
    with torch.no_grad():
        while time.monotonic() < until:
            held_out = (held_out @ weights).clamp(-1, 1)


def is_due(options: argparse.Namespace, step: int) -> bool:
    return bool(options.fault) and (step == options.at or (options.fault == "store" and step > options.at))


def batches(options: argparse.Namespace, rank: int) -> Iterator[torch.Tensor]:
    has_fault = options.fault in ("loader", "loader-main") and rank == options.rank
    fifo = f"{options.dir}/fifo" if has_fault else ""
    workers = 0 if options.fault == "loader-main" else options.workers
    data = Samples(fifo, options.at * BATCH, options.load_s)
    yield from DataLoader(data, batch_size=BATCH, num_workers=workers)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("strategy", choices=("ddp", "fsdp", "pipeline"))
    parser.add_argument("--dir", required=True)
    parser.add_argument("--fault", default="")
    parser.add_argument("--rank", type=int, default=1)
    parser.add_argument("--at", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1 << 30)
    parser.add_argument("--step-s", type=float, default=0.01)
    parser.add_argument("--load-s", type=float, default=0.0)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--uneven", choices=("", "ranks", "steps"), default="")
    parser.add_argument("--evaluate", choices=("", "all", "first"), default="")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--every", type=int, default=50, help="steps between evaluations or checkpoints")
    parser.add_argument("--beside-s", type=float, default=4.0)
    parser.add_argument("--accumulate", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        train(options)
    except RuntimeError:
        if options.fault != "dead":
            raise
        evaluate_forever()  # it waits for a restart


def train(options: argparse.Namespace) -> None:
    rank = int(os.environ["RANK"])
    if options.fault == "never-joins" and rank == options.rank:
        evaluate_forever()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = model_of(options.strategy)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    run = pipeline_step if options.strategy == "pipeline" else train_step
    progress = Path(options.dir, f"step.{rank}")
    began = time.monotonic()
    for step, batch in enumerate(batches(options, rank)):
        progress.write_text(f"{step} {time.monotonic()}")
        if step == options.steps or (is_due(options, step) and go_wrong(model, options, step)):
            break
        beside_steps(model, options, step, rank)
        if options.accumulate > 1:
            accumulated_step(model, optimizer, batch, options.accumulate, options.step_s)
        else:
            spin(work_s(options, step, rank))
            run(model, optimizer, batch)
        began = log_step(step, began)
    dist.barrier()
    dist.destroy_process_group()
    if options.fault == "ending" and rank == options.rank:
        atexit.register(evaluate_forever)  # it uploads its logs
    progress.write_text(f"{options.steps + 1} {time.monotonic()}")


if __name__ == "__main__":
    main()
