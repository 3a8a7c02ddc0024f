"""How long a rank computes: on the host's clock, or on its device's where it only queues work there."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


class Stopwatch:
    """Adds up the time inside the calls that it was made to watch."""

    def __init__(self, device: torch.device) -> None:
        self._on_device = device.type == "cuda"
        self._ns = 0
        self._events: list[tuple[Any, Any]] = []

    def watched(self, call: Callable[..., Result]) -> Callable[..., Result]:
        """The same call, its time added."""

        def timed(*words: Any, **options: Any) -> Result:
            if self._on_device:
                return self._queued(call, *words, **options)
            begin = time.perf_counter_ns()
            try:
                return call(*words, **options)
            finally:
                self._ns += time.perf_counter_ns() - begin

        return timed

    def _queued(self, call: Callable[..., Result], *words: Any, **options: Any) -> Result:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        result = call(*words, **options)
        end.record()
        self._events.append((begin, end))
        return result

    def reset(self) -> None:
        """Begin anew."""
        self._ns = 0
        self._events.clear()

    def ns(self) -> int:
        """All of it, once what was queued is done."""
        if self._on_device:
            torch.cuda.synchronize()
        queued_ms: float = sum(begin.elapsed_time(end) for begin, end in self._events)
        return self._ns + round(queued_ms * 1e6)


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """How micro-batches flow through a pipeline, and how long this rank computed while they did."""

    ranks: int
    micro_batches: int
    stages: int
    """On each rank."""
    computing: Stopwatch
    running: Stopwatch

    def reset(self) -> None:
        """Begin anew."""
        self.computing.reset()
        self.running.reset()
