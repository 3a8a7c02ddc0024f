"""Signs of a node process that still imports."""

import os
import select
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from nccltool.launch import events
from nccltool.worker import starting


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    monkeypatch.setattr(starting, "EACH_S", 0.05)
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


def test_the_line_is_an_event() -> None:
    assert events.decode(starting.LINE.rstrip(b"\n")) == events.Starting()


def test_one_that_gets_on_tells(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    steps = iter(range(10**6))
    monkeypatch.setattr(starting, "progress", lambda: (next(steps), 0.0))
    signs = starting.Signs(pipe[1])
    assert select.select([pipe[0]], [], [], 10.0)[0]
    signs.close()
    assert set(os.read(pipe[0], 65536).splitlines(keepends=True)) == {starting.LINE}


def test_one_that_hangs_says_nothing(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "progress", lambda: (300, 1.5))
    signs = starting.Signs(pipe[1])
    assert not select.select([pipe[0]], [], [], 0.5)[0]
    signs.close()


def test_a_module_more_is_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    before = starting.progress()
    monkeypatch.setitem(sys.modules, "made_for_a_test", types.ModuleType("made_for_a_test"))
    assert starting.progress()[0] == before[0] + 1
    assert starting.progress()[1] >= before[1]


def test_a_kernel_that_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(starting, "_SCHEDULED", tmp_path / "none")
    assert starting.progress()[1] > 0
