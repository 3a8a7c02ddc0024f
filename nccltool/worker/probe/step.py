"""One step on one rank: buffers, timing, check, report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from nccltool.core.units import format_bytes
from nccltool.core.unknown import Unknown
from nccltool.launch import events
from nccltool.probe import collectives, late_rank, longest_call, skews, stopping, traffic
from nccltool.probe.collectives.base import Call, Part
from nccltool.probe.dtypes import ELEMENT_SIZE
from nccltool.probe.events import Result, Samples, WrongData
from nccltool.probe.job import ProbeJob
from nccltool.probe.late_rank import RankLateness
from nccltool.probe.plan import Step
from nccltool.probe.result import Launched, RowGroup
from nccltool.probe.traffic import UnevenTraffic
from nccltool.worker import memory
from nccltool.worker.probe import plugin_trial
from nccltool.worker.probe.clocks import clock_of
from nccltool.worker.probe.comm import TorchComm
from nccltool.worker.probe.data import Pattern
from nccltool.worker.probe.destinations import Destinations
from nccltool.worker.probe.plugin_trial import PluginTrial
from nccltool.worker.probe.timing import TimedCalls, Timer, captured
from nccltool.worker.rank.tools import RankTools

_POISON = 77
"""Stands in a receive buffer before a check, so that an element that was not written is wrong."""
_LONG_CHECK = 2**22
"""Elements that take a rank so long to check that others, which may have none, do not wait inside a collective."""
_LEAST_CHECKED_PER_S = 1e6
"""Elements, where one core of an EPYC was measured to check 3e8 a second."""

AfterTiming = Callable[[Call, Sequence[int]], None]
"""What is done with the call that was timed, and its times in nanoseconds."""


class Reporter(Protocol):
    """Brings the result of a step to the runner."""

    def report(self, samples: Sequence[int], result: Result) -> None:
        """`samples`: nanoseconds of each iteration."""


@dataclass(frozen=True, slots=True)
class ToRunner:
    """Rank 0 tells the runner, and waits until the result is saved (a Reporter)."""

    job: ProbeJob
    tools: RankTools

    def report(self, samples: Sequence[int], result: Result) -> None:
        self.tools.channel.emit(*Samples.of(result.step, samples))
        self.tools.channel.emit(result)
        self.tools.slot.phase("waiting for the result to be saved")
        if self.tools.channel.wait_for_line(self.job.timeout_s) is None:
            raise TimeoutError("the runner did not save the result in time")


class Prober:
    """Runs steps, one after the other, in the same order on all ranks of a group."""

    def __init__(self, job: ProbeJob, tools: RankTools, reporter: Reporter) -> None:
        self._job, self._group, self._slot, self._channel = job, tools.group, tools.slot, tools.channel
        self._injector, self._comm = tools.injector, TorchComm(job.reduce_op, tools.group.group)
        self._reporter = reporter
        self._checker = _Checker(job, tools)
        self._contact = tools.contact
        self._trial = PluginTrial(tools, job.timeout_s)
        self.timer = Timer(job, tools.group, clock_of(tools.group, tools.slot), tools.slot)
        self._destinations = Destinations(self._comm, tools.group, self.timer)

    def run(self, step: Step, of: RowGroup | None = None, then: AfterTiming | None = None) -> None:
        """Time a step, then check it; rank 0 of the group reports it. `of`: None = all ranks are in it."""
        op, size = step.op, step.layout.bytes
        if self._trial.is_broken(op):
            return
        outside_s = self._allow(step)
        self._slot.phase("between steps", step.index, allowance_s=outside_s)
        self._injector.at("enter", op, size)
        self._enter(step, of)
        send, recv = self.buffers(step)
        if not self._works(step, send, recv):
            return
        call = self.call(step, send, recv)
        timed = captured(call, self._group) if self._job.cuda_graph else call
        disturbed = self._injector.disturbed(timed, op, size)
        took = self.timer.measure(timed, disturbed, self._contact.first_call_s)
        if then is not None:
            then(timed, took.ns)
        late = self.timer.came_late(self._injector.pause(op, size))
        sent = self._traffic(step, send, recv)
        self._slot.phase("checking", allowance_s=outside_s)
        self._injector.at("check", op, size)
        wrong = self._checker.wrong(step, send, recv, self._injector.corrupted(call, recv, op, size))
        if self._group.rank == 0:
            self._reporter.report(took.ns, self._result(step, took, late, wrong, of, sent))
        del timed, call, disturbed, send, recv
        memory.give_back(self._group.device)

    def _works(self, step: Step, send: Tensor, recv: Tensor) -> bool:
        """Whether the operation of a plug-in can be called; the others can."""
        if collectives.origin(step.op) is None:
            return True
        self._slot.phase("trying the plug-in", step.index)
        return self._trial.passes(step, lambda: self.call(step, send, recv), self._contact.first_call_s)

    def _traffic(self, step: Step, send: Tensor, recv: Tensor) -> UnevenTraffic | None:
        """How unevenly an operation under a skew sends, and which destination is slower than the others."""
        if collectives.get(step.op).under is None:
            return None
        self._slot.phase("timing destinations")
        times = self._destinations.times(send, recv, traffic.BUDGETS * self._job.budget_s)
        slowest = None if isinstance(times, Unknown) else traffic.slowest(times)
        skew = collectives.skew_of(step.op)
        return UnevenTraffic(
            skew=skew,
            imbalance=step.layout.recv / step.layout.send,
            busiest_rank=None if skew == skews.UNIFORM else self._group.number_of(0),
            slowest_destination=self._group.number_of(slowest.rank) if slowest else None,
            slowest_ratio=slowest.ratio if slowest else None,
            unknown_reason=times.reason if isinstance(times, Unknown) else None,
        )

    def _enter(self, step: Step, of: RowGroup | None) -> None:
        op, size = step.op, step.layout.bytes
        label = f"{op} at {format_bytes(size)} in group {of.name}" if of else ""
        rank = self._group.number_of(self._group.rank)
        self._channel.emit(events.Enter(rank=rank, step=step.index, op=op, bytes=size, label=label))

    def _allow(self, step: Step) -> float:
        """Note how long a call may take; how long it may take to fill the buffers."""
        contact, layout = self._contact, step.layout
        inside_s = longest_call.inside_s(
            step.op, layout.bytes, contact.ranks, contact.ranks_per_host, contact.rate
        )
        self._slot.allow(contact.retries_s + inside_s)
        return longest_call.outside_s((layout.send + layout.recv) * ELEMENT_SIZE[self._job.dtype])

    def buffers(self, step: Step) -> tuple[Tensor, Tensor]:
        """Send and receive buffer, written once: an untouched page would be the one zero page, read from cache.

        In place, the smaller buffer is this rank's part of the larger one, as in nccl-tests.
        """
        layout, rank = step.layout, self._group.rank
        dtype: torch.dtype = getattr(torch, self._job.dtype)
        large = torch.empty(max(layout.send, layout.recv), dtype=dtype, device=self._group.device).fill_(0)
        if step.placement == "out-of-place":
            small = torch.empty(min(layout.send, layout.recv), dtype=dtype, device=large.device).fill_(0)
        else:
            small = large if layout.send == layout.recv else large[rank * layout.count : (rank + 1) * layout.count]
        return (large, small) if layout.send > layout.recv else (small, large)

    def call(self, step: Step, send: Tensor, recv: Tensor) -> Call:
        """The operation, noted on the progress page while it runs."""
        call, plugin = collectives.get(step.op).bind(self._comm, send, recv), collectives.origin(step.op)
        return self._group.guarded(plugin_trial.named(plugin, call) if plugin else call)

    @property
    def _launched(self) -> Launched:
        if self._job.cuda_graph:
            return "graph"
        return "queued" if self.timer.clock.queues else "blocking"

    def _result(
        self,
        step: Step,
        took: TimedCalls,
        late: Sequence[RankLateness],
        wrong: int | None,
        of: RowGroup | None,
        sent: UnevenTraffic | None,
    ) -> Result:
        late = [replace(one, rank=self._group.number_of(one.rank)) for one in late]
        latest = late[0] if late else None
        return Result(
            step=step.index,
            op=step.op,
            count=step.layout.count,
            bytes=step.layout.bytes,
            bytes_per_rank=step.layout.bytes_per_rank,
            dtype=self._job.dtype,
            reduce_op=self._job.reduce_op if collectives.get(step.op).reduces else None,
            placement=step.placement,
            cadence=self._job.cadence,
            noisy=self._job.iterations is None and stopping.is_noisy(took.ns, self._job.precision),
            launched=self._launched,
            launch_limited=took.launch_limited,
            wrong=wrong,
            late_rank=latest.rank if latest else None,
            late_s=latest.late_s if latest else None,
            late_ranks=late_rank.as_pairs(late),
            group=of,
            traffic=sent,
        )


@dataclass(frozen=True, slots=True)
class _Checker:
    """Compares every element that a step delivers with what it must be."""

    job: ProbeJob
    tools: RankTools

    def wrong(self, step: Step, send: Tensor, recv: Tensor, call: Call) -> int | None:
        """Wrong elements across all ranks and rounds; None when no check was asked for."""
        if not self.job.checks:
            return None
        rounds = range(step.index * self.job.checks, (step.index + 1) * self.job.checks)
        return self.tools.group.total(sum(self._round(step, seed, send, recv, call) for seed in rounds))

    def _round(self, step: Step, seed: int, send: Tensor, recv: Tensor, call: Call) -> int:
        group, slot, collective = self.tools.group, self.tools.slot, collectives.get(step.op)
        reduce_op = self.job.reduce_op if collective.reduces else None
        pattern = Pattern(seed, getattr(torch, self.job.dtype), self.job.dtype, group.size, reduce_op)
        recv.fill_(_POISON)
        pattern.fill(send, group.rank, slot.tick)
        slot.tick()
        call()
        group.settle()
        wrong = 0
        for part in collective.expected(group.rank, group.size, step.layout):
            count, first = pattern.wrong(recv, part, slot.tick)
            wrong += count
            if first is not None:
                self._report(step, pattern, recv, part, count, first)
        longest = max(step.layout.send, step.layout.recv)
        if longest >= _LONG_CHECK:
            patience_s = 2 * self.job.timeout_s + longest / _LEAST_CHECKED_PER_S
            group.come_together(f"checked/{seed}", patience_s)
        return wrong

    def _report(self, step: Step, pattern: Pattern, recv: Tensor, part: Part, count: int, first: int) -> None:
        at = first - part.start
        expected = pattern.expected(part, at, at + 1, recv.device)
        number_of = self.tools.group.number_of
        self.tools.channel.emit(
            WrongData(
                rank=number_of(self.tools.group.rank),
                step=step.index,
                op=step.op,
                bytes=step.layout.bytes,
                elements=count,
                first_index=first,
                got=str(recv[first].item()),
                expected=str(expected[0].item()),
                source="the reduction" if part.source is None else f"rank {number_of(part.source)}",
            )
        )
