"""Timing one operation over all ranks: warm up, then measure until it is precise enough."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from nccltool.probe import late_rank, stopping
from nccltool.probe.job import ProbeJob
from nccltool.worker.agreement import Agreement
from nccltool.worker.probe.clock import Clock
from nccltool.worker.progress_page import ProgressPage

Call = Callable[[], None]


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
        while not self._agree(stopping.warm(medians[cold:], time.monotonic() - begin, self.job.budget_s)):
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

    def _agree(self, yes: bool) -> bool:
        return self.group.from_rank_0(int(yes)) == 1
