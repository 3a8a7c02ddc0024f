"""The keys and values of a run, and who waits for some that are not there yet. No I/O, and no clock of its own."""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from nccltool.worker.bus.messages import UNANSWERED, Answer, Ask


@dataclass(eq=False, slots=True)
class _Wait:
    asker: object
    request: Ask
    missing: set[str]
    is_over: bool = False


@dataclass(slots=True)
class Board:
    """Takes requests; each gets its answer at once or later."""

    name: str = ""
    """What it answers to those who ask whose it is."""
    values: dict[str, bytes] = field(default_factory=dict)
    _waits: dict[str, list[_Wait]] = field(default_factory=dict)
    _of: dict[object, _Wait] = field(default_factory=dict)
    """The last wait of each asker, who asks one thing at a time."""
    _ends: list[tuple[float, int, _Wait]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def ask(self, asker: object, request: Ask, now: float) -> list[tuple[object, Answer]]:
        """The answers that a request makes possible: its own, if it gets one, and those of who waited for what
        it sets."""
        match request.op:
            case "get" | "wait":
                answer = self._when_there(asker, request, now)
                return [(asker, answer)] if answer else []
            case "who":
                return [(asker, Answer(values=(self.name.encode().ljust(request.number),)))]
        answer = self._now(request)
        own = [] if request.op in UNANSWERED else [(asker, answer)]
        return [*own, *self._woken(request.keys)]

    def late(self, now: float) -> list[tuple[object, Answer]]:
        """The answers to those who have waited long enough."""
        late = []
        while self._ends and self._ends[0][0] <= now:
            _, _, wait = heapq.heappop(self._ends)
            if not wait.is_over:
                wait.is_over = True
                what = ", ".join(sorted(wait.missing)[:4])
                problem = f"Timed out after {wait.request.timeout_s:.3g} s waiting for {what}"
                late.append((wait.asker, Answer(problem=problem)))
        return late

    def next_end(self) -> float | None:
        """When somebody will have waited long enough."""
        return self._ends[0][0] if self._ends else None

    def forget(self, asker: object) -> None:
        """It is gone."""
        wait = self._of.pop(asker, None)
        if wait is not None:
            wait.is_over = True

    def _now(self, request: Ask) -> Answer:
        keys, values, key = request.keys, request.values, request.keys[0] if request.keys else ""
        match request.op:
            case "set":
                self.values.update(zip(keys, values, strict=True))
            case "append":
                for one, value in zip(keys, values, strict=True):
                    self.values[one] = self.values.get(one, b"") + value
            case "add":
                number = int(self.values.get(key, b"0")) + request.number
                self.values[key] = str(number).encode()
                return Answer(number=number)
            case "check":
                return Answer(number=int(all(one in self.values for one in keys)))
            case "delete":
                return Answer(number=int(self.values.pop(key, None) is not None))
            case "swap":
                return self._swapped(key, *values)
            case "count":
                return Answer(number=len(self.values))
        return Answer()

    def _swapped(self, key: str, expected: bytes, desired: bytes) -> Answer:
        """As torch's stores do: a key that is not there is set when nothing is expected."""
        there = self.values.get(key)
        if there == expected or (there is None and not expected):
            self.values[key] = desired
        return Answer(values=(self.values.get(key, expected),))

    def _when_there(self, asker: object, request: Ask, now: float) -> Answer | None:
        missing = {key for key in request.keys if key not in self.values}
        if not missing:
            return self._found(request)
        self._of[asker] = wait = _Wait(asker, request, missing)
        for key in missing:
            self._waits.setdefault(key, []).append(wait)
        heapq.heappush(self._ends, (now + request.timeout_s, next(self._numbers), wait))
        return None

    def _found(self, request: Ask) -> Answer:
        if request.op == "wait":
            return Answer()
        return Answer(values=tuple(self.values.get(key, b"") for key in request.keys))

    def _woken(self, keys: tuple[str, ...]) -> Iterator[tuple[object, Answer]]:
        for key in keys:
            if key not in self.values:
                continue
            for wait in self._waits.pop(key, ()):
                wait.missing.discard(key)
                if not wait.missing and not wait.is_over:
                    wait.is_over = True
                    yield wait.asker, self._found(wait.request)
