"""Fixtures of more than one test of triage."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nccltool.triage import follow as triage_follow


class Clock:
    """Time that passes only while somebody sleeps; what is to happen meanwhile happens then."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def monotonic(self) -> float:
        return self.now

    def later(self, act: Callable[[], object], after_s: float = 1.0) -> None:
        """Do it that long after what is to be done last."""
        self._due.append(((self._due[-1][0] if self._due else self.now) + after_s, act))

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        while self._due and self._due[0][0] <= self.now:
            self._due.pop(0)[1]()

    def append(self, path: Path, text: str) -> None:
        """Write a text in two parts."""
        for part in (text[:40], text[40:]):
            self.later(partial(_append, path, part), 0.5)


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(triage_follow, "time", made)
    return made
