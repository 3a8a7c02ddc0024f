"""How long calls take on one rank: on CPUs by the wall clock, on GPUs by marks in the stream.

A GPU that is idle begins with a call as soon as it is launched, so short calls back to back would take as long as
Python needs to launch them. So the stream is held, by a kernel that spins, until all calls of a batch are queued;
then the ranks meet on their devices, and the marks are stamped at the devices' own rate.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any, Protocol, cast

import torch

from nccltool.probe.collectives.base import Call
from nccltool.worker.agreement import Agreement
from nccltool.worker.progress_page import ProgressPage

MOST_QUEUED = 128
"""Calls in a batch. A stream takes some 1,000 launches before the host must wait
(https://forums.developer.nvidia.com/t/68937), and torch queues up to six things for a call: kernels, events,
waits."""
MOST_QUEUED_NS = 2_000_000_000
"""Of work that is queued before somebody waits for it, as it took before: what a rank waits for stays one call or
a few, and the time-outs of NCCL, which begin when a call is queued, stay far."""
LONGEST_HOLD_NS = 100_000_000
"""A batch whose launch takes longer is made smaller."""
_MARGIN = 1.5
"""How much longer the stream is held than the launch of the last batch took: the host is disturbed now and
then."""
_LEAST_HOLD_NS = 20_000
"""And this much at least: a launch and a mark take some microseconds each."""
_TELLING = 0.01
"""Share of a time that can be seen: half of the precision to which rows are measured."""
_FIRST_SPIN = 100_000
"""Ticks of the device's clock, to see how long one takes: 0.05 ms at 2 GHz, 1 ms at the 100 MHz of some AMD
GPUs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """What a rank saw of a batch of calls."""

    ns: list[int]
    """Of stream: from the start to the end of each call. Of isolated: of each call."""
    launch_ns: int = 0
    """How long it took to queue one call; 0 = calls are not queued."""
    starved: int = 0
    """How many calls the device waited for: it was done with what was queued before they were launched."""


class Clock:
    """Wall clock: on CPUs the calls return when their work is done."""

    queues = False
    """Whether calls return before their work is done."""

    def offsets(self, call: Call, iterations: int, hold_ns: int = 0) -> Batch:
        """Nanoseconds from the start to the end of each iteration, back to back, on this rank."""
        now = time.perf_counter_ns
        ends = [0] * iterations
        start = now()
        for i in range(iterations):
            call()
            ends[i] = now()
        return Batch(ns=[end - start for end in ends])

    def durations(self, call: Call, iterations: int, meet: Call, hold_ns: int = 0) -> Batch:
        """Nanoseconds of each iteration on this rank; `meet` runs before each and is not counted."""
        now = time.perf_counter_ns
        took = [0] * iterations
        for i in range(iterations):
            meet()
            begin = now()
            call()
            took[i] = now() - begin
        return Batch(ns=took)


class StreamMark(Protocol):
    """A point in a stream (torch.cuda.Event)."""

    def query(self) -> bool: ...
    def synchronize(self) -> object: ...
    def elapsed_time(self, later: Any) -> float: ...


class Stream(Protocol):
    """What a clock needs of a device."""

    def mark(self) -> StreamMark:
        """A point in the stream, here."""

    def spin(self, ticks: int) -> None:
        """Keep the device busy for so many ticks of its clock."""

    def meet(self) -> None:
        """Queue a meeting of all ranks."""


class CudaStream:
    """The current stream of the device (a Stream)."""

    def __init__(self, meet: Call) -> None:
        self.meet = meet

    def mark(self) -> StreamMark:
        mark: Any = torch.cuda.Event(enable_timing=True)
        mark.record()
        return cast(StreamMark, mark)

    def spin(self, ticks: int) -> None:
        torch.cuda._sleep(ticks)  # what torch's own tests hold a stream with


class QueueClock(Clock):
    """Marks in the stream of a device; the host only queues, so its own speed does not count."""

    queues = True

    def __init__(self, stream: Stream, slot: ProgressPage, now: Callable[[], int] = time.perf_counter_ns) -> None:
        self._stream, self._slot, self._now = stream, slot, now
        self._ticks_per_ns = 0.0
        self._spun: tuple[int, StreamMark, StreamMark] | None = None
        """Ticks of the last spin, and the marks around it."""

    def offsets(self, call: Call, iterations: int, hold_ns: int = 0) -> Batch:
        self._hold(hold_ns)
        begin, marks, starved = self._now(), [self._stream.mark()], 0
        for _ in range(iterations):
            call()
            starved += marks[-1].query()
            marks.append(self._stream.mark())
        launch_ns = (self._now() - begin) // iterations
        self._learn()
        self._drained(marks)
        return Batch(ns=[_ns(marks[0], mark) for mark in marks[1:]], launch_ns=launch_ns, starved=starved)

    def durations(self, call: Call, iterations: int, meet: Call, hold_ns: int = 0) -> Batch:
        took, launches, starved = [], [], 0
        for _ in range(iterations):
            meet()
            self._hold(hold_ns)
            begin, before = self._now(), self._stream.mark()
            call()
            launches.append(self._now() - begin)
            starved += before.query()
            after = self._stream.mark()
            self._learn()
            self._drained([before, after])
            took.append(_ns(before, after))
        return Batch(ns=took, launch_ns=median_low(launches), starved=starved)

    def _hold(self, ns: int) -> None:
        """Keep the device busy for as long as the host will need to queue what follows, and let the ranks meet on
        their devices: they are not held equally long."""
        if not ns:
            return
        if not self._ticks_per_ns:
            self._spin(_FIRST_SPIN)
            self._learn()
        self._spin(round(ns * self._ticks_per_ns))
        self._stream.meet()

    def _spin(self, ticks: int) -> None:
        before = self._stream.mark()
        self._stream.spin(ticks)
        self._spun = ticks, before, self._stream.mark()

    def _learn(self) -> None:
        """How fast the clock of the device goes now: it goes up under load, and down when it is hot."""
        if self._spun:
            ticks, before, after = self._spun
            self._drained([after])
            self._ticks_per_ns = ticks / max(_ns(before, after), 1)
            self._spun = None

    def _drained(self, marks: Sequence[StreamMark]) -> None:
        """Wait for the marks one by one, so that the progress page says how far the device is."""
        for mark in marks:
            self._slot.watched(mark.synchronize)()


def clock_of(group: Agreement, slot: ProgressPage) -> Clock:
    return QueueClock(CudaStream(group.queue_meeting), slot) if group.device.type == "cuda" else Clock()


def _ns(before: StreamMark, after: StreamMark) -> int:
    return round(before.elapsed_time(after) * 1e6)


def limits(starved_ns: int, ns: int) -> bool:
    """Whether launches of so many nanoseconds for which the device waited can be seen in this much time."""
    return starved_ns > _TELLING * ns


def hold_ns(launch_ns: int, call_ns: int, count: int, longest_ns: int = LONGEST_HOLD_NS) -> int:
    """How long to hold the stream, so that the host is always ahead of a device that takes `call_ns` for a
    call."""
    if not launch_ns:
        return 0
    ahead = count if call_ns < 2 * launch_ns else 2
    return min(round(_MARGIN * launch_ns * ahead) + _LEAST_HOLD_NS, longest_ns)


def most(launch_ns: int, call_ns: int) -> int:
    """How many calls to queue at once: some seconds of work, and no more than a device that is held can be
    given."""
    return max(min(MOST_QUEUED, MOST_QUEUED_NS // max(call_ns, 1), LONGEST_HOLD_NS // max(launch_ns, 1)), 1)
