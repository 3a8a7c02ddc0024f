"""Checking the data of one step: apart from the timing, with new data each round."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from nccltool.probe import collectives, events
from nccltool.probe.collectives import Collective
from nccltool.probe.job import ProbeJob
from nccltool.probe.plan import Step
from nccltool.worker.agreement import Agreement
from nccltool.worker.channel import Channel
from nccltool.worker.probe.data import Pattern
from nccltool.worker.progress_page import ProgressPage

_POISON = 77
"""Stands in a receive buffer before a check, so that an element that was not written is wrong."""


@dataclass(frozen=True, slots=True)
class Checker:
    """Compares every element that a step delivers with what it must be."""

    job: ProbeJob
    group: Agreement
    slot: ProgressPage
    channel: Channel

    def wrong(self, step: Step, send: Tensor, recv: Tensor, call: Callable[[], None]) -> int | None:
        """Wrong elements over all ranks and rounds; None when no check was asked for."""
        if not self.job.checks:
            return None
        collective = collectives.get(step.op)
        rounds = range(self.job.checks)
        mine = sum(self._round(collective, step, number, send, recv, call) for number in rounds)
        return self.group.total(mine)

    def _round(
        self,
        collective: Collective,
        step: Step,
        number: int,
        send: Tensor,
        recv: Tensor,
        call: Callable[[], None],
    ) -> int:
        rank, size = self.group.rank, self.group.size
        reduce_op = self.job.reduce_op if collective.reduces else None
        seed = step.index * self.job.checks + number
        pattern = Pattern(seed, getattr(torch, self.job.dtype), self.job.dtype, size, reduce_op)
        recv.fill_(_POISON)
        pattern.fill(send, rank)
        self.slot.tick()
        call()
        self.group.settle()
        wrong = 0
        for part in collective.expected(rank, size, step.layout):
            count, first = pattern.wrong(recv, part, self.slot.tick)
            wrong += count
            if first is not None:
                self._report(step, pattern, recv, part, count, first)
        return wrong

    def _report(
        self, step: Step, pattern: Pattern, recv: Tensor, part: collectives.Part, count: int, first: int
    ) -> None:
        at = first - part.start
        expected = pattern.expected(part, at, at + 1, recv.device)
        self.channel.emit(
            events.WrongData(
                rank=self.group.rank,
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
