"""Timing one operation over all ranks: warm up, then measure until it is precise enough.

There is no barrier and no synchronisation inside the timed region.
"""

import time
from dataclasses import dataclass
from statistics import median, median_low

import torch

from nccltool.probe import late_rank, stopping
from nccltool.probe.collectives.base import Call
from nccltool.probe.job import ProbeJob
from nccltool.probe.late_rank import RankLateness
from nccltool.worker.agreement import Agreement
from nccltool.worker.probe import clocks
from nccltool.worker.probe.clocks import Batch, Clock
from nccltool.worker.progress_page import ProgressPage

_HICCUPS = 0.1
"""Share of calls for which a device may wait because the host was disturbed."""
_MOST_STRETCH = 16
"""A device that waits although it was held so many times longer cannot be held: launches that return when their
work is done (CUDA_LAUNCH_BLOCKING=1) are never ahead of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedCalls:
    """What came of timing an operation."""

    ns: list[int]
    """Of each iteration over all ranks, in the order of measurement."""
    launch_limited: bool
    """A device waited for its host, for long enough to be seen in their time."""


class Timer:
    """Times calls as the job asks for it. All ranks make the same calls: rank 0 decides how many."""

    def __init__(self, job: ProbeJob, group: Agreement, clock: Clock, slot: ProgressPage) -> None:
        self.job, self.group, self.clock, self.slot = job, group, clock, slot
        self._launch_ns = self._call_ns = 0
        """Of one call in the last batch, on the slowest rank; a launch stretched as below."""
        self._stretch = 1
        """How many times longer than it takes to launch a call the device is held for it; 0 = it is not held."""
        self._starved_ns = 0
        """Of launches for which a device waited, in the last batch."""

    def measure(self, call: Call, timed: Call, first_call_s: float = 0.0) -> TimedCalls:
        """The iterations of `timed`, after warming up with `call` (the same, but for drills), whose first may take
        so much longer."""
        begin = time.monotonic()
        self._launch_ns = self._call_ns = 0
        self._stretch = 1
        self.slot.phase("warm-up", allowance_s=first_call_s)
        estimate_s = self.warm_up(call)
        self.slot.phase("timing")
        samples: list[int] = []
        starved_ns = 0
        while count := self._next_batch(samples, time.monotonic() - begin, estimate_s):
            samples += self._counted(timed, count)
            starved_ns += self._starved_ns
        return TimedCalls(ns=samples, launch_limited=clocks.limits(starved_ns, sum(samples)))

    def _counted(self, call: Call, count: int) -> list[int]:
        """A batch without its edges, where the tool chooses the count; -n is what runs and what is counted."""
        alone = self.job.iterations is not None or self.job.cadence == "isolated"
        edge = 0 if alone else stopping.edges(count)
        return self.batch(call, count + 2 * edge)[edge : edge + count]

    def warm_up(self, call: Call) -> float | None:
        """Run until times settle, or as often as was asked for; the last median in seconds, None without any."""
        if self.job.warmup == 0:
            return None
        if self.job.warmup is not None:
            for _ in range(self.job.warmup - 1):
                call()
                self.group.settle()
            return self.batch(call, 1)[0] / 1e9
        begin, medians = time.monotonic(), [median(self.batch(call, 1)) / 1e9]
        cold = 1  # the first call sets things up and says nothing about the others
        while not self.group.from_rank_0(
            int(stopping.warm(medians[cold:], time.monotonic() - begin, self.job.budget_s))
        ):
            medians.append(median(self.batch(call, self._at_once(stopping.WARM_UP_BATCH))) / 1e9)
        return medians[-1]

    def batch(self, call: Call, count: int) -> list[int]:
        """Nanoseconds of `count` iterations over all ranks.

        Cadence stream: calls back to back. Iteration i is complete when the slowest rank has completed it;
        counted from a common start, that is the maximum over ranks of their offsets, and the differences of
        these maxima are the samples. They need no common clock, and their sum is the time of the slowest
        rank, not more. Cadence isolated: all ranks meet before each call, outside of the timed part; a
        sample is the longest of the ranks' own times.
        """
        if self.job.cadence == "isolated":
            hold_ns = clocks.hold_ns(self._launch_ns, self._call_ns, 1)
            return self._over_all_ranks(self.clock.durations(call, count, self.group.meet, hold_ns))
        hold_ns = clocks.hold_ns(self._launch_ns, self._call_ns, count)
        self.group.meet()
        ends = self._over_all_ranks(self.clock.offsets(call, count, hold_ns))
        return [end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)]

    def keep_busy(self, call: Call, count: int) -> None:
        """So many calls, or fewer, whose times nobody wants."""
        self.batch(call, self._at_once(count))

    def _over_all_ranks(self, batch: Batch) -> list[int]:
        """The slowest rank of each number; what the batch says of the next one is noted, the same on all ranks."""
        if not self.clock.queues:
            return self.group.maximum(batch.ns)
        *ns, launch_ns, starved = self.group.maximum([*batch.ns, batch.launch_ns, batch.starved])
        if self._launch_ns and starved > _HICCUPS * len(ns):  # held, and not for long enough
            self._stretch = 2 * self._stretch if self._stretch < _MOST_STRETCH else 0
        self._launch_ns = launch_ns * self._stretch
        self._call_ns = median_low(ns) if self.job.cadence == "isolated" else ns[-1] // len(ns)
        self._starved_ns = starved * launch_ns
        return ns

    def _at_once(self, count: int) -> int:
        """As many of these calls as may be queued before somebody waits for them. The same on all ranks."""
        return min(count, clocks.most(self._launch_ns, self._call_ns)) if self.clock.queues else count

    def came_late(self, pause: Call | None) -> tuple[RankLateness, ...]:
        """The ranks that the others wait for; see nccltool.probe.late_rank."""
        waits = []
        for _ in range(late_rank.ROUNDS):
            if pause is not None:
                pause()
            begin = time.perf_counter_ns()
            self.group.meet()
            waits.append(time.perf_counter_ns() - begin)
        return late_rank.in_row(self.group.everybodys(waits))

    def _next_batch(self, samples: list[int], spent_s: float, estimate_s: float | None) -> int:
        job = self.job
        if job.iterations is not None:
            return self._at_once(job.iterations - len(samples))
        if self.group.rank:
            return self._at_once(self.group.from_rank_0(0))
        seconds = [ns / 1e9 for ns in samples]
        decision = stopping.next_batch(seconds, spent_s, job.precision, job.budget_s, estimate_s)
        return self._at_once(self.group.from_rank_0(decision))


def captured(call: Call, group: Agreement) -> Call:
    """`call` as one replay of a CUDA graph, so that launching it from Python costs nothing.

    NCCL must have been used with these buffers before.
    """
    side = torch.cuda.Stream(group.device)
    side.wait_stream(torch.cuda.current_stream(group.device))
    with torch.cuda.stream(side):  # set-up work may not be part of a capture
        call()
    torch.cuda.current_stream(group.device).wait_stream(side)
    group.settle()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return group.guarded(graph.replay)
