"""The input of a rank, drawn as users draw it: DataLoader, workers, and DistributedSampler; each wait is timed."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from nccltool.core import processes
from nccltool.train.input_order import InputPlan, ShardError, compared
from nccltool.worker.train.file_thread import FileThread

_LEAST_BATCHES = 6
"""Of a process: fewer do not tell a leak from files that are opened when they are first needed."""
_GRACE_S = 2.0
"""After the time that torch itself waits, which does not hold where a worker stops between its answer and the
file descriptor that belongs to it, or where the rank reads by itself."""
_STILL = ("T", "t", "D")
"""States of a process that is stopped, or waits for a disk."""
_DEAD = ("", "Z", "X")
"""States of a process that has ended."""


class InputFailed(Exception):
    """The input of a rank did not come; the message says what failed, and which worker."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoaderSettings:
    """How batches are loaded."""

    workers: int = 0
    prefetch: int = 2
    """Batches that each worker loads ahead."""
    pinned: bool = False
    timeout_s: float = 60.0
    """How long a rank waits for a batch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptorLeak:
    """A process that opens files batch after batch, and does not close them."""

    who: str
    before: int
    after: int
    batches: int
    """That it read between."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InputWait:
    """How long a rank waited for a batch."""

    ns: int
    stalled_ns: int | None
    """Without the time in which those who load it could have run, but had no core: then the rank is slow, and not
    its storage. None = the kernel does not tell."""


@dataclass(slots=True)
class Drawn:
    """A batch."""

    numbers: tuple[int, ...]
    """Of its sequences."""
    tokens: Tensor
    waited: InputWait = field(compare=False)


class Input:
    """The batches of one rank, epoch after epoch."""

    def __init__(
        self, dataset: Dataset[Any], plan: InputPlan, rank: int, seed: int, settings: LoaderSettings
    ) -> None:
        self.plan, self._rank, self._seed, self._settings = plan, rank, seed, settings
        self.sampler = DistributedSampler(
            dataset, plan.ranks, rank, shuffle=True, seed=seed, drop_last=plan.uneven == "drop"
        )
        self._loader = DataLoader(
            dataset,
            batch_size=plan.batch,
            sampler=self.sampler,
            drop_last=plan.uneven == "drop",
            num_workers=settings.workers,
            prefetch_factor=settings.prefetch if settings.workers else None,
            persistent_workers=settings.workers > 0,
            pin_memory=settings.pinned,
            timeout=settings.timeout_s if settings.workers else 0,
        )
        self._batches: Iterator[Any] = iter(())
        self._step, self._epoch = 0, -1
        self._iterator: Any = None
        self._reader = FileThread()
        self._order: tuple[int, Sequence[int]] = (-1, ())
        self._open: dict[int, int] = {}
        """Descriptors of this process and its workers, by pid, when all of them had read a batch."""
        self._counted_at = 0

    def draw(self) -> Drawn:
        """The batch of the next step. Raises InputFailed."""
        self._step += 1
        epoch, inside = self.plan.place(self._step)
        loading = self._loading(inside)
        begin, scheduled = time.perf_counter_ns(), _scheduled(loading)
        try:
            if self._iterator is None:  # in the main thread, the only one in which torch hears of workers that die
                self._begin(epoch)
            numbers, tokens = self._reader.done(
                lambda: self._next(epoch, inside), self._settings.timeout_s + _GRACE_S
            )
        except StopIteration:
            raise InputFailed(f"rank {self._rank} has no batch for step {inside + 1} of its epoch") from None
        except (RuntimeError, OSError) as error:
            raise InputFailed(self._why(error, inside)) from error
        waited = _waited(time.perf_counter_ns() - begin, scheduled, _scheduled(loading))
        if not self._open and self._step > len(self.workers()) * self._settings.prefetch:
            self._open, self._counted_at = self._descriptors(), self._step
        return Drawn(tuple(numbers.tolist()), tokens, waited)

    def _loading(self, inside: int) -> list[tuple[int, int]]:
        """(process, thread) of all that this rank waits for: batch n of an epoch comes from worker n % workers."""
        here, pids = os.getpid(), self.workers()
        workers = [(pids[inside % len(pids)],) * 2] if pids else []
        return [(here, threading.get_native_id()), (here, self._reader.thread), *workers]

    def _begin(self, epoch: int) -> None:
        self.sampler.set_epoch(epoch)
        self._batches = self._iterator = iter(self._loader)
        self._epoch = epoch

    def _next(self, epoch: int, inside: int) -> Any:
        if inside == 0 and epoch != self._epoch:
            self._begin(epoch)
        return next(self._batches)

    def skip(self, steps: int) -> None:
        """Go on after so many steps: what they had of the epoch is drawn, and forgotten."""
        _, inside = self.plan.place(steps + 1)
        self._step = steps - inside
        for _ in range(inside):
            self.draw()

    def check(self, drawn: Drawn) -> ShardError | None:
        """What is wrong with the sequences of the step that was drawn last."""
        return compared(self.plan, self.order, self._rank, self._step, drawn.numbers)

    def order(self, epoch: int) -> Sequence[int]:
        """All sequences, as an epoch has them: as DistributedSampler documents it."""
        if self._order[0] != epoch:  # asked for in every step
            generator = torch.Generator().manual_seed(self._seed + epoch)
            self._order = epoch, torch.randperm(self.plan.sequences, generator=generator).tolist()
        return self._order[1]

    def workers(self) -> tuple[int, ...]:
        """Their process ids; () = none was started."""
        return tuple(worker.pid for worker in getattr(self._iterator, "_workers", ()))

    def _descriptors(self) -> dict[int, int]:
        counts = {pid: processes.descriptors(pid) for pid in (os.getpid(), *self.workers())}
        return {pid: count for pid, count in counts.items() if count is not None}

    def leaks(self) -> tuple[DescriptorLeak, ...]:
        """Processes whose descriptors became more with every other batch that they read, or more often."""
        pids = self.workers()
        batches = (self._step - self._counted_at) // max(len(pids), 1)
        if not self._open or batches < _LEAST_BATCHES:
            return ()
        names = {os.getpid(): f"the input of rank {self._rank}"} | {
            pid: f"worker {number} (pid {pid}) of the input of rank {self._rank}"
            for number, pid in enumerate(pids)
        }
        now = self._descriptors()
        return tuple(
            DescriptorLeak(who=names[pid], before=self._open[pid], after=after, batches=batches)
            for pid, after in now.items()
            if pid in self._open and after - self._open[pid] >= batches / 2
        )

    def died(self) -> str:
        """Which workers did, and how; empty = none."""
        dead = [
            f"worker {number} (pid {worker.pid}) of the input of rank {self._rank} {_end(worker.exitcode)}"
            for number, worker in enumerate(getattr(self._iterator, "_workers", ()))
            if processes.state(worker.pid) in _DEAD
        ]
        return " and ".join(dead)

    def _why(self, error: Exception, inside: int) -> str:
        """Which worker it was. Batch n of an epoch comes from worker n % workers."""
        if died := self.died():
            return died
        pids = self.workers()
        if "timed out" not in str(error):
            return f"the input of rank {self._rank} failed: {error}"
        after = f"has not read its batch after {self._settings.timeout_s:g} s"
        if not pids:
            return f"the input of rank {self._rank} {after}"
        still = [number for number, pid in enumerate(pids) if processes.state(pid) in _STILL]
        late = (still or [inside % len(pids)])[0]
        whose = f"worker {late} (pid {pids[late]}) of the input of rank {self._rank}"
        return f"{whose} {after}; its process is in state {processes.state(pids[late])}"


def _end(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return "died" if exit_code is None else f"ended with exit code {exit_code}"
    return f"was killed by {signal.Signals(-exit_code).name}"


def _scheduled(loading: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None]:
    return [processes.scheduled_ns(*one) for one in loading]


def _waited(
    ns: int, before: Sequence[tuple[int, int] | None], after: Sequence[tuple[int, int] | None]
) -> InputWait:
    known = [(begin, end) for begin, end in zip(before, after, strict=True) if begin and end]
    queued = sum(end[1] - begin[1] for begin, end in known)
    return InputWait(ns=ns, stalled_ns=max(0, ns - queued) if len(known) == len(before) else None)
