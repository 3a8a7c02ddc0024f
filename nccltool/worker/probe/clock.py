"""Timing a call many times, without a barrier or a synchronisation inside the timed region."""

import time
from collections.abc import Callable
from typing import Protocol

import torch

from nccltool.worker.progress_page import ProgressPage


class Clock(Protocol):
    """Times iterations back to back."""

    def offsets(self, call: Callable[[], None], iterations: int) -> list[int]:
        """Nanoseconds from the start to the end of each iteration, back to back, on this rank."""
        ...

    def durations(self, call: Callable[[], None], iterations: int, meet: Callable[[], None]) -> list[int]:
        """Nanoseconds of each iteration on this rank; `meet` runs before each and is not counted."""
        ...


class CpuClock:
    """Wall clock: on CPUs the calls return when their work is done."""

    def offsets(self, call: Callable[[], None], iterations: int) -> list[int]:
        now = time.perf_counter_ns
        ends = [0] * iterations
        start = now()
        for i in range(iterations):
            call()
            ends[i] = now()
        return [end - start for end in ends]

    def durations(self, call: Callable[[], None], iterations: int, meet: Callable[[], None]) -> list[int]:
        now = time.perf_counter_ns
        took = [0] * iterations
        for i in range(iterations):
            meet()
            begin = now()
            call()
            took[i] = now() - begin
        return took


class CudaClock:
    """CUDA events in the stream: the host only queues, so its own speed does not count."""

    def __init__(self, slot: ProgressPage) -> None:
        self._slot = slot

    def offsets(self, call: Callable[[], None], iterations: int) -> list[int]:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(iterations + 1)]
        marks[0].record()
        for i in range(iterations):
            call()
            marks[i + 1].record()
        self._slot.watched(marks[-1].synchronize)()  # here the host waits for the other ranks
        return [round(marks[0].elapsed_time(mark) * 1e6) for mark in marks[1:]]

    def durations(self, call: Callable[[], None], iterations: int, meet: Callable[[], None]) -> list[int]:
        marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(iterations)]
        for begin, end in marks:
            meet()
            begin.record()
            call()
            end.record()
        self._slot.watched(marks[-1][1].synchronize)()
        return [round(begin.elapsed_time(end) * 1e6) for begin, end in marks]


def for_device(device: torch.device, slot: ProgressPage) -> Clock:
    """The clock that suits a device."""
    return CudaClock(slot) if device.type == "cuda" else CpuClock()
