"""Steps from the logs that a process writes to."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.look import step_log
from nccltool.attach.seen.sources import StepLine
from nccltool.hosts.sources.base import Tree


@contextmanager
def _writer(out: "IO[bytes] | int") -> Iterator[int]:
    """A process whose standard output is a file."""
    argv = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("step 12 loss 1.2\nstep 13 loss 1.1\n", [StepLine(step=12), StepLine(step=13)]),
        (
            " iteration      100/  500000 | elapsed time per iteration (ms): 1234.5 | lm loss: 3\n",
            [StepLine(step=100, step_s=1.2345)],
        ),
        (" 45%|####5     | 120/1000 [00:30<03:40,  2.50s/it]\n", [StepLine(step=120, step_s=2.5)]),
        ("nothing of interest\n", []),
        ("", []),
    ],
)
def test_lines(text: str, lines: list[StepLine], tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text(text)
    with file.open("ab") as out, _writer(out) as pid:
        logs, unread = step_log.read([pid], Tree())
    assert unread == ()
    assert [line for log in logs for line in log.lines] == lines
    assert [log.file for log in logs] == ([str(file)] if lines else [])


def test_only_what_is_new_is_taken_apart(tmp_path: Path) -> None:
    file, memory = tmp_path / "out", step_log.LogMemory()
    file.write_text("".join(f"step {number}\n" for number in range(1000, 1200)) + "st")

    def steps() -> list[int | None]:
        ((log,), _) = step_log.read([pid], Tree(), 800, memory)
        return [line.step for line in log.lines]

    with file.open("ab", buffering=0) as out, _writer(out) as pid:
        assert steps() == list(range(1121, 1200))
        out.write(b"ep 1200\nstep 1201")
        assert steps() == list(range(1121, 1202))
        out.write(b"\n" + b"".join(b"step %d\n" % number for number in range(1202, 1230)))
        assert steps() == list(range(1121, 1230))
        out.write(b"".join(b"step %d\n" % number for number in range(1230, 1400)))  # more than is read at once
        assert steps() == list(range(1321, 1400))
        os.truncate(file, 0)
        out.write(b"step 7\n")
        assert steps() == [7]


def test_time_stamps_differ_by_their_distance(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text(
        "2026-01-02 10:00:01,500 INFO step 13 loss 1.1\n2026-01-02 10:00:03,000 INFO step 14 loss 1.1\n"
    )
    with file.open("ab") as out, _writer(out) as pid:
        ((log,), _) = step_log.read([pid], Tree())
    first, last = (line.at_s for line in log.lines)
    assert first is not None
    assert last is not None
    assert last - first == 1.5


def test_only_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("".join(f"step {number} loss 1.0\n" for number in range(20_000)))
    with file.open("ab") as out, _writer(out) as pid:
        ((log,), _) = step_log.read([pid], Tree())
    assert log.lines[-1].step == 19_999
    assert 1000 < len(log.lines) < 3000


def test_a_pipe_is_not_read() -> None:
    """Its reader would miss what is taken."""
    reader, writer = os.pipe()
    os.write(writer, b"step 12 loss 1.2\n")
    with _writer(writer) as pid:
        assert step_log.read([pid], Tree()) == ((), ())
    assert os.read(reader, 100) == b"step 12 loss 1.2\n"
    os.close(reader)
    os.close(writer)


def test_a_process_that_is_gone_has_no_log() -> None:
    assert step_log.read([2**22 + 1], Tree()) == ((), ())


@given(st.binary(max_size=2000))
def test_any_bytes(data: bytes) -> None:
    for line in step_log.lines("log", data):
        assert line.step is None or line.step >= 0
        assert line.step_s is None or line.step_s > 0
