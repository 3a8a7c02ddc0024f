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
        self._spans: list[tuple[Any, Any, tuple[int, ...]]] = []
        self._origin: Any = None

    def watched(
        self, call: Callable[..., Result], label: Callable[..., tuple[int, ...]] = lambda *_, **__: ()
    ) -> Callable[..., Result]:
        """The same call, timed; `label` says of its arguments what it does."""

        def timed(*words: Any, **options: Any) -> Result:
            begin = self._now()
            try:
                return call(*words, **options)
            finally:
                self._spans.append((begin, self._now(), label(*words, **options)))

        return timed

    def _now(self) -> Any:
        if not self._on_device:
            return time.perf_counter_ns()
        mark = torch.cuda.Event(enable_timing=True)
        mark.record()
        return mark

    def reset(self) -> None:
        """Forget all of it; from now on spans are counted."""
        self._spans.clear()
        self._origin = self._now()

    def ns(self) -> int:
        """All of it, once what was queued is done."""
        if self._on_device:
            torch.cuda.synchronize()
        return sum(self._between(begin, end) for begin, end, _ in self._spans)

    def spans(self) -> list[tuple[int, ...]]:
        """Of each watched call its label, and the nanoseconds from the reset to its beginning and its end."""
        if self._on_device:
            torch.cuda.synchronize()
        return [
            (*label, self._between(self._origin, begin), self._between(self._origin, end))
            for begin, end, label in self._spans
        ]

    def _between(self, begin: Any, end: Any) -> int:
        return round(begin.elapsed_time(end) * 1e6) if self._on_device else int(end - begin)


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
