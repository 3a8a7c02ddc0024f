"""One meeting on one rank: its members form a process group of their own, measure, and leave it."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import Store

from nccltool.core import statistics
from nccltool.localize.pairs import traffic
from nccltool.localize.pairs.events import Encountered
from nccltool.localize.pairs.job import PairsJob
from nccltool.localize.pairs.units import MeetingUnit
from nccltool.probe import collectives, longest_call
from nccltool.probe.collectives.base import Call, Part
from nccltool.probe.dtypes import ELEMENT_SIZE
from nccltool.probe.events import WrongData
from nccltool.probe.job import ProbeJob
from nccltool.worker import memory
from nccltool.worker.agreement import Agreement, CollectiveFailed
from nccltool.worker.probe.clocks import clock_of
from nccltool.worker.probe.comm import TorchComm
from nccltool.worker.probe.data import Pattern
from nccltool.worker.probe.timing import Timer
from nccltool.worker.rank.tools import RankTools

_DTYPE = "float32"
_POISON = 77
"""Stands in a receive buffer before a check."""
_CHECKED = 2**14
"""Elements of the data check, which is a call of its own: how fast they are checked depends on the host."""
_FEW = 12
"""Calls that must fit the budget for the usual rules of when it is enough; else two or a few are measured."""
_LEAST = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class PairMeeting:
    """Who is in it, and where this rank stands."""

    round: int
    members: tuple[MeetingUnit, ...]
    rank: int
    """Of this rank, in the run."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """All of its ranks, in their order within it."""
        return tuple(rank for unit in self.members for rank in unit.ranks)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(unit.name for unit in self.members)


@dataclass(frozen=True, kw_only=True, slots=True)
class MeetingNetwork:
    """How the ranks of a meeting reach each other."""

    backend: str
    store: Store
    timeout_s: float


@contextlib.contextmanager
def group_of(meeting: PairMeeting, connection: MeetingNetwork, tools: RankTools) -> Iterator[Agreement]:
    """The ranks of a meeting as the default process group: what measures all ranks measures these."""
    try:
        tools.slot.watched(
            lambda: dist.init_process_group(
                connection.backend,
                store=connection.store,
                rank=meeting.ranks.index(meeting.rank),
                world_size=len(meeting.ranks),
                timeout=timedelta(seconds=connection.timeout_s),
            )
        )()
    except Exception as error:
        leave()
        raise CollectiveFailed("while a meeting was being set up") from error
    try:
        yield Agreement(tools.group.device, tools.slot)
    finally:
        leave()


def leave() -> None:
    """Leave the process group, if there is one."""
    if dist.is_initialized():
        dist.destroy_process_group()


class Measurer:
    """Measures a meeting on this rank."""

    def __init__(self, job: PairsJob, tools: RankTools, bytes_of_call: int) -> None:
        self._job, self._tools, self._bytes = job, tools, bytes_of_call
        self._probe = ProbeJob(run_id=job.run_id, ops=(job.pairs.op,), budget_s=job.pairs.budget_s)

    def inside_s(self, ranks: int) -> float:
        """How long one call may take over the slowest link that was seen."""
        rate, each = self._tools.contact.rate, self._tools.contact.ranks_per_host
        return longest_call.inside_s("all_reduce", self._bytes, ranks, each, rate)

    def measure(self, meeting: PairMeeting, group: Agreement) -> tuple[Encountered, ...]:
        """Time what was asked for, and check the data. All of its ranks have the same numbers."""
        elements = self._bytes // ELEMENT_SIZE[_DTYPE]
        send, recv = (torch.zeros(elements, dtype=getattr(torch, _DTYPE), device=group.device) for _ in range(2))
        timer = Timer(self._probe, group, clock_of(group, self._tools.slot), self._tools.slot)
        timed = [self._encounter(meeting, timer, group, *one) for one in self._calls(meeting, group, send, recv)]
        self._check(meeting, group, send[:_CHECKED], recv[:_CHECKED])
        del send, recv
        memory.give_back(group.device)
        return tuple(timed)

    def _calls(
        self, meeting: PairMeeting, group: Agreement, send: Tensor, recv: Tensor
    ) -> Iterator[tuple[Call, tuple[str, ...], bool]]:
        """What is timed, of whom, and whether only the first of them sends."""
        comm, names = TorchComm("sum"), meeting.names
        if self._job.pairs.op == "all_reduce":
            yield group.guarded(lambda: comm.all_reduce(recv)), names, False
            return
        mine = traffic.exchange(group.rank, group.size, len(names))
        yield group.guarded(lambda: comm.exchange(send, mine.to, recv, mine.source)), names, False
        if len(names) != 2:
            return
        peer = mine.to
        for is_forth in (True, False):
            sends = mine.is_first == is_forth
            way = partial(comm.send, send, peer) if sends else partial(comm.recv, recv, peer)
            yield group.guarded(way), names if is_forth else names[::-1], True

    def _encounter(
        self,
        meeting: PairMeeting,
        timer: Timer,
        group: Agreement,
        call: Call,
        members: tuple[str, ...],
        is_directed: bool,
    ) -> Encountered:
        op = self._job.pairs.op
        ns = self._timed(timer, call, self._tools.injector.disturbed(call, op, self._bytes))
        seconds = statistics.summarise([one / 1e9 for one in ns]).seconds
        factor = collectives.get(op).bus_factor(group.size)
        return Encountered(
            round=meeting.round,
            members=members,
            busbw_bytes_per_s=factor * self._bytes / max(seconds, 1e-9),
            samples=len(ns),
            is_directed=is_directed,
        )

    def _timed(self, timer: Timer, call: Call, timed: Call) -> Sequence[int]:
        """Nanoseconds of each call over all ranks of the meeting. The first connects, and does not count."""
        slot, budget_ns = self._tools.slot, self._job.pairs.budget_s * 1e9
        slot.phase("warm-up", allowance_s=self._tools.contact.first_call_s)
        timer.batch(call, 1)
        one = timer.batch(timed, 1)
        if one[0] * _FEW <= budget_ns:
            return timer.measure(call, timed).ns
        slot.phase("timing")
        return one + timer.batch(timed, max(int(budget_ns / one[0]), _LEAST) - 1)

    def _check(self, meeting: PairMeeting, group: Agreement, send: Tensor, recv: Tensor) -> None:
        op, slot = self._job.pairs.op, self._tools.slot
        slot.phase("checking")
        comm = TorchComm("sum")
        reduces = op == "all_reduce"
        pattern = Pattern(meeting.round, getattr(torch, _DTYPE), _DTYPE, group.size, "sum" if reduces else None)
        mine = traffic.exchange(group.rank, group.size, len(meeting.members))
        recv.fill_(_POISON)
        pattern.fill(recv if reduces else send, group.rank, slot.tick)

        def call() -> None:
            comm.all_reduce(recv) if reduces else comm.exchange(send, mine.to, recv, mine.source)

        self._tools.injector.corrupted(group.guarded(call), recv, op, self._bytes)()
        group.settle()
        part = Part(0, len(recv), None if reduces else mine.source, 0)
        wrong, first = pattern.wrong(recv, part, slot.tick)
        if first is None:
            return
        expected = pattern.expected(part, first, first + 1, recv.device)
        source = "the reduction" if part.source is None else f"rank {meeting.ranks[part.source]}"
        self._tools.channel.emit(
            WrongData(
                rank=meeting.rank,
                step=meeting.round,
                op=op,
                bytes=len(recv) * ELEMENT_SIZE[_DTYPE],
                elements=wrong,
                first_index=first,
                got=str(recv[first].item()),
                expected=str(expected[0].item()),
                source=source,
            )
        )
