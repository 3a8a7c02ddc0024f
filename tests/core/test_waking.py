"""A process that is stopped is woken by what it could read, and by the end of it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

from nccltool.core import processes
from tests.support.commands import until

LIMIT_S = 20.0
PROGRAM = """
import os, sys
from nccltool.core import waking
waking.when_readable(0)
if sys.argv[1:]:
    waking.no_more(0)
os.write(1, b"ready")
while os.read(0, 100):
    os.write(1, b"more")
"""
Process = subprocess.Popen[bytes]


def begin(*words: str) -> Process:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdout
    assert process.stdout.read(5) == b"ready"
    os.kill(process.pid, signal.SIGSTOP)
    assert until(lambda: processes.state(process.pid) == "T", LIMIT_S)
    return process


@contextlib.contextmanager
def stopped(*words: str) -> Iterator[tuple[Process, IO[bytes], IO[bytes]]]:
    """A process that is stopped, its standard input and its standard output."""
    with begin(*words) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process, process.stdin, process.stdout
        finally:
            process.kill()


def test_by_data() -> None:
    with stopped() as (_, news, said):
        news.write(b"news")
        assert said.read(4) == b"more"


def test_by_the_end() -> None:
    with stopped() as (process, news, _):
        news.close()
        assert process.wait(LIMIT_S) == 0


def test_no_more() -> None:
    with stopped("no more") as (process, news, _):
        news.write(b"news")
        assert processes.state(process.pid) == "T"
