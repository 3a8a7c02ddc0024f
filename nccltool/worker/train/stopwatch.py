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
        self._spans: list[tuple[Any, Any]] = []

    def watched(self, call: Callable[..., Result]) -> Callable[..., Result]:
        def timed(*words: Any, **options: Any) -> Result:
            begin = self._now()
            try:
                return call(*words, **options)
            finally:
                self._spans.append((begin, self._now()))

        return timed

    def _now(self) -> Any:
        if not self._on_device:
            return time.perf_counter_ns()
        mark = torch.cuda.Event(enable_timing=True)
        mark.record()
        return mark

    def reset(self) -> None:
        self._spans.clear()

    def ns(self) -> int:
        """All of it, once what was queued is done."""
        if not self._on_device:
            return sum(end - begin for begin, end in self._spans)
        torch.cuda.synchronize()
        return round(sum(float(begin.elapsed_time(end)) for begin, end in self._spans) * 1e6)


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
        self.computing.reset()
        self.running.reset()
