"""Timing a call many times, without a barrier or a synchronisation inside the timed region."""

import time
from collections.abc import Callable
from typing import Protocol

import torch


class Clock(Protocol):
    """Times iterations back to back."""

    def offsets(self, call: Callable[[], None], iterations: int) -> list[int]:
        """Nanoseconds from the common start to the end of each iteration, on this rank."""
        ...


class CpuClock:
    """Wall clock: on CPUs the calls return when their work is done."""

    def offsets(self, call: Callable[[], None], iterations: int) -> list[int]:
        """See Clock."""
        now = time.perf_counter_ns
        ends = [0] * iterations
        start = now()
        for i in range(iterations):
            call()
            ends[i] = now()
        return [end - start for end in ends]


class CudaClock:
    """CUDA events in the stream: the host only queues, so its own speed does not count."""

    def offsets(self, call: Callable[[], None], iterations: int) -> list[int]:
        """See Clock."""
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(iterations + 1)]
        marks[0].record()
        for i in range(iterations):
            call()
            marks[i + 1].record()
        marks[-1].synchronize()
        return [round(marks[0].elapsed_time(mark) * 1e6) for mark in marks[1:]]


def for_device(device: torch.device) -> Clock:
    """The clock that suits a device."""
    return CudaClock() if device.type == "cuda" else CpuClock()
