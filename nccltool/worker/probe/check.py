"""Checking the data of one step: apart from the timing, with new data each round."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nccltool.probe import collectives, events
from nccltool.probe.collectives.base import Call
from nccltool.probe.job import ProbeJob
from nccltool.probe.plan import Step
from nccltool.worker.probe.data import Pattern
from nccltool.worker.rank.tools import RankTools

_POISON = 77
"""Stands in a receive buffer before a check, so that an element that was not written is wrong."""


@dataclass(frozen=True, slots=True)
class Checker:
    """Compares every element that a step delivers with what it must be."""

    job: ProbeJob
    tools: RankTools

    def wrong(self, step: Step, send: Tensor, recv: Tensor, call: Call) -> int | None:
        """Wrong elements over all ranks and rounds; None when no check was asked for."""
        if not self.job.checks:
            return None
        rounds = range(step.index * self.job.checks, (step.index + 1) * self.job.checks)
        return self.tools.group.total(sum(self._round(step, seed, send, recv, call) for seed in rounds))

    def _round(self, step: Step, seed: int, send: Tensor, recv: Tensor, call: Call) -> int:
        group, slot, collective = self.tools.group, self.tools.slot, collectives.get(step.op)
        reduce_op = self.job.reduce_op if collective.reduces else None
        pattern = Pattern(seed, getattr(torch, self.job.dtype), self.job.dtype, group.size, reduce_op)
        recv.fill_(_POISON)
        pattern.fill(send, group.rank)
        slot.tick()
        call()
        group.settle()
        wrong = 0
        for part in collective.expected(group.rank, group.size, step.layout):
            count, first = pattern.wrong(recv, part, slot.tick)
            wrong += count
            if first is not None:
                self._report(step, pattern, recv, part, count, first)
        return wrong

    def _report(
        self, step: Step, pattern: Pattern, recv: Tensor, part: collectives.Part, count: int, first: int
    ) -> None:
        at = first - part.start
        expected = pattern.expected(part, at, at + 1, recv.device)
        self.tools.channel.emit(
            events.WrongData(
                rank=self.tools.group.rank,
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
