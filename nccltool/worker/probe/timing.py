"""Timing one operation over all ranks: warm up, then measure until it is precise enough.

There is no barrier and no synchronisation inside the timed region.
"""

import time
from dataclasses import dataclass
from statistics import median

import torch

from nccltool.probe import late_rank, stopping
from nccltool.probe.collectives.base import Call
from nccltool.probe.job import ProbeJob
from nccltool.worker.agreement import Agreement
from nccltool.worker.progress_page import ProgressPage


class Clock:
    """Wall clock: on CPUs the calls return when their work is done."""

    def offsets(self, call: Call, iterations: int) -> list[int]:
        """Nanoseconds from the start to the end of each iteration, back to back, on this rank."""
        now = time.perf_counter_ns
        ends = [0] * iterations
        start = now()
        for i in range(iterations):
            call()
            ends[i] = now()
        return [end - start for end in ends]

    def durations(self, call: Call, iterations: int, meet: Call) -> list[int]:
        """Nanoseconds of each iteration on this rank; `meet` runs before each and is not counted."""
        now = time.perf_counter_ns
        took = [0] * iterations
        for i in range(iterations):
            meet()
            begin = now()
            call()
            took[i] = now() - begin
        return took


class _CudaClock(Clock):
    """CUDA events in the stream: the host only queues, so its own speed does not count."""

    def __init__(self, slot: ProgressPage) -> None:
        self._slot = slot

    def offsets(self, call: Call, iterations: int) -> list[int]:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(iterations + 1)]
        marks[0].record()
        for i in range(iterations):
            call()
            marks[i + 1].record()
        self._slot.watched(marks[-1].synchronize)()  # here the host waits for the other ranks
        return [round(marks[0].elapsed_time(mark) * 1e6) for mark in marks[1:]]

    def durations(self, call: Call, iterations: int, meet: Call) -> list[int]:
        marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(iterations)]
        for begin, end in marks:
            meet()
            begin.record()
            call()
            end.record()
        self._slot.watched(marks[-1][1].synchronize)()
        return [round(begin.elapsed_time(end) * 1e6) for begin, end in marks]


def clock_of(device: torch.device, slot: ProgressPage) -> Clock:
    return _CudaClock(slot) if device.type == "cuda" else Clock()


@dataclass(frozen=True, slots=True)
class Timer:
    """Times calls as the job asks for it. All ranks make the same calls: rank 0 decides how many."""

    job: ProbeJob
    group: Agreement
    clock: Clock
    slot: ProgressPage

    def measure(self, call: Call, timed: Call) -> list[int]:
        """Nanoseconds of each iteration of `timed` over all ranks, in the order of measurement, after warming
        up with `call` (the same, but for drills)."""
        begin = time.monotonic()
        self.slot.phase("warm-up")
        estimate_s = self.warm_up(call)
        self.slot.phase("timing")
        samples: list[int] = []
        while count := self._next_batch(samples, time.monotonic() - begin, estimate_s):
            samples += self._counted(timed, count)
        return samples

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
            return self.batch(call, 1)[0] / 1e9
        begin, medians = time.monotonic(), [median(self.batch(call, 1)) / 1e9]
        cold = 1  # the first call sets things up and says nothing about the others
        while not self.group.from_rank_0(
            int(stopping.warm(medians[cold:], time.monotonic() - begin, self.job.budget_s))
        ):
            medians.append(median(self.batch(call, stopping.WARM_UP_BATCH)) / 1e9)
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
            return self.group.maximum(self.clock.durations(call, count, self.group.meet))
        self.group.meet()
        ends = self.group.maximum(self.clock.offsets(call, count))
        return [end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)]

    def latest(self, pause: Call | None) -> tuple[int, float] | None:
        """(rank that the others wait for, seconds); see nccltool.probe.late_rank."""
        waits = []
        for _ in range(late_rank.ROUNDS):
            if pause is not None:
                pause()
            begin = time.perf_counter_ns()
            self.group.meet()
            waits.append(time.perf_counter_ns() - begin)
        return late_rank.latest(self.group.everybodys(waits))

    def _next_batch(self, samples: list[int], spent_s: float, estimate_s: float | None) -> int:
        job = self.job
        if job.iterations is not None:
            return job.iterations - len(samples)
        if self.group.rank:
            return self.group.from_rank_0(0)
        seconds = [ns / 1e9 for ns in samples]
        decision = stopping.next_batch(seconds, spent_s, job.precision, job.budget_s, estimate_s)
        return self.group.from_rank_0(decision)


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
