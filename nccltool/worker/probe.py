"""Timing and checking one step on one rank."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from nccltool import collectives, events, processes
from nccltool.collectives.base import Collective
from nccltool.model import Job
from nccltool.plan import Step
from nccltool.worker import clock
from nccltool.worker.board import Slot
from nccltool.worker.channel import Channel
from nccltool.worker.comm import TorchComm
from nccltool.worker.data import Pattern
from nccltool.worker.drill import Drill

_POISON = 77
"""Stands in a receive buffer before a check, so that an element that was not written is wrong."""


class CollectiveFailed(Exception):
    """A torch.distributed call raised; the cause is its exception. It may only echo another rank's death."""


class Prober:
    """Runs steps, one after the other, in the same order on all ranks."""

    def __init__(self, job: Job, device: torch.device, slot: Slot, channel: Channel, drill: Drill) -> None:
        self._job, self._device, self._slot = job, device, slot
        self._channel, self._drill = channel, drill
        self._comm = TorchComm(job.reduce_op)
        self._clock = clock.for_device(device)
        self._dtype: torch.dtype = getattr(torch, job.dtype)

    def run(self, step: Step) -> None:
        """Time a step, then check it; rank 0 reports it and waits until the result is saved."""
        self._slot.phase("between steps", step.index)
        self._drill.at("enter", step.op, step.layout.bytes)
        self._channel.emit(
            events.Enter(rank=self._comm.rank, step=step.index, op=step.op, bytes=step.layout.bytes)
        )
        collective = collectives.get(step.op)
        send, recv = self.buffers(collective, step)
        call = self.call(collective, send, recv)
        self._report_samples(step, self.time(call, step))
        self._drill.at("check", step.op, step.layout.bytes)
        wrong = self._check(collective, step, send, recv, call) if self._job.checks else None
        self._report_result(collective, step, wrong)
        del call, send, recv
        processes.give_back_free_memory()

    def buffers(self, collective: Collective, step: Step) -> tuple[Tensor, Tensor]:
        """Send and receive buffer, written once: an untouched page would be the one zero page, read from cache."""
        send = torch.empty(step.layout.send, dtype=self._dtype, device=self._device).fill_(0)
        if collective.PLACEMENT == "in-place":
            return send, send
        return send, torch.empty(step.layout.recv, dtype=self._dtype, device=self._device).fill_(0)

    def call(self, collective: Collective, send: Tensor, recv: Tensor) -> Callable[[], None]:
        """The operation, noted on the board while it runs."""
        return self._guarded(collective.bind(self._comm, send, recv))

    def time(self, call: Callable[[], None], step: Step) -> list[int]:
        """Nanoseconds from one completion over all ranks to the next.

        Iteration i is complete when the slowest rank has completed it. Counted from a common start, that is
        the maximum over ranks of their offsets; the differences of these maxima are the samples. They need
        no common clock, and their sum is the time of the slowest rank, not more.
        """
        self._slot.phase("warm-up")
        for _ in range(self._job.warmup):
            call()
        timed = self._drill.disturb(call, self._job.iterations, step.op, step.layout.bytes)
        self._meet()
        self._slot.phase("timing")
        offsets = self._clock.offsets(timed, self._job.iterations)
        self._slot.phase("collecting samples")
        ends = self._over_ranks(offsets, dist.ReduceOp.MAX)
        return [end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)]

    def _check(
        self,
        collective: Collective,
        step: Step,
        send: Tensor,
        recv: Tensor,
        call: Callable[[], None],
    ) -> int:
        """Wrong elements over all ranks and rounds; each round has new data."""
        self._slot.phase("checking")
        reduce_op = self._job.reduce_op if collective.REDUCES else None
        parts = collective.expected(self._comm.rank, self._comm.world_size, step.layout)
        wrong = 0
        for round_number in range(self._job.checks):
            seed = step.index * self._job.checks + round_number
            pattern = Pattern(seed, self._dtype, self._job.dtype, self._comm.world_size, reduce_op)
            recv.fill_(_POISON)
            pattern.fill(send, self._comm.rank)
            self._slot.tick()
            call()
            self._drill.corrupt(recv, step.op, step.layout.bytes)
            for part in parts:
                count, first = pattern.wrong(recv, part, self._slot.tick)
                wrong += count
                if first is not None:
                    self._report_wrong(step, pattern, recv, part, count, first)
        return self._over_ranks([wrong], dist.ReduceOp.SUM)[0]

    def _report_wrong(
        self, step: Step, pattern: Pattern, recv: Tensor, part: collectives.Part, count: int, first: int
    ) -> None:
        at = first - part.start
        expected = pattern.expected(part, at, at + 1, recv.device)
        self._channel.emit(
            events.WrongData(
                rank=self._comm.rank,
                step=step.index,
                op=step.op,
                bytes=step.layout.bytes,
                elements=count,
                first_index=first,
                got=str(recv[first].item()),
                expected=str(expected[0].item()),
                source="the reduction" if part.source is None else f"rank {part.source}",
            )
        )

    def _report_samples(self, step: Step, samples: list[int]) -> None:
        if self._comm.rank:
            return
        for start in range(0, len(samples), events.SAMPLES_PER_EVENT):
            chunk = tuple(samples[start : start + events.SAMPLES_PER_EVENT])
            self._channel.emit(events.Samples(step=step.index, ns=chunk))

    def _report_result(self, collective: Collective, step: Step, wrong: int | None) -> None:
        if self._comm.rank:
            return
        self._channel.emit(
            events.Result(
                step=step.index,
                op=step.op,
                count=step.layout.count,
                bytes=step.layout.bytes,
                bytes_per_rank=step.layout.bytes_per_rank,
                dtype=self._job.dtype,
                reduce_op=self._job.reduce_op if collective.REDUCES else None,
                placement=collective.PLACEMENT,
                wrong=wrong,
            )
        )
        self._slot.phase("waiting for the result to be saved")
        if self._channel.wait_for_line(self._job.timeout_s) is None:
            raise TimeoutError("the runner did not save the result in time")

    def _meet(self) -> None:
        """Begin together: a tiny all-reduce, outside the timed region."""
        self._over_ranks([0], dist.ReduceOp.MAX)

    def _over_ranks(self, numbers: list[int], op: dist.ReduceOp.RedOpType) -> list[int]:
        tensor = torch.tensor(numbers, dtype=torch.int64, device=self._device)
        self._guarded(lambda: dist.all_reduce(tensor, op))()
        return [int(number) for number in tensor.tolist()]

    def _guarded(self, call: Callable[[], None]) -> Callable[[], None]:
        watched = self._slot.watched(call)

        def guarded() -> None:
            try:
                watched()
            except Exception as error:
                raise CollectiveFailed("in a collective") from error

        return guarded
