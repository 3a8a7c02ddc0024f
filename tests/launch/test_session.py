"""The processes of a launch, with small programs in place of ssh."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nccltool.core import processes
from nccltool.core.errors import BadInput
from nccltool.launch import events
from nccltool.launch.launchers.base import Command, NodeCommands
from nccltool.launch.session import Session
from tests.samples import job

Heard = list[tuple[int, bytes, bool]]
Play = Callable[..., Session]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    """Starts programs, which are given a job; at the end they are killed."""
    started: list[Session] = []

    def start(*programs: str, **changes: Any) -> Session:
        commands = tuple(
            Command(argv=(sys.executable, "-I", "-S", "-c", f"import os, sys, time\n{program}"), nodes=(number,))
            for number, program in enumerate(programs)
        )
        session = Session(NodeCommands(launcher="ssh", why="", commands=commands, remote=True), "/tmp")
        started.append(session)
        session.start(job(**changes))
        return session

    yield start
    for session in started:
        session.end()
        assert [child.process.returncode for child in session.processes if child.process.returncode is None] == []


@pytest.mark.parametrize(("remote", "number"), [(False, signal.SIGKILL), (True, 0)])
def test_a_local_node_process_dies_with_us_from_its_first_moment(remote: bool, number: int) -> None:
    """One on other hosts has a watchdog there, which must hear of it."""
    asks = "import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print(n.value)"
    command = Command(argv=(sys.executable, "-I", "-S", "-c", asks), nodes=(0,))
    session = Session(NodeCommands(launcher="x", why="", commands=(command,), remote=remote), "/tmp")
    session.start(job())
    try:
        assert heard(session) == [(0, f"{number:d}".encode(), True)]
    finally:
        session.end()


def heard(session: Session, limit_s: float = 20.0) -> Heard:
    """All that comes until the pipes end."""
    lines: Heard = []
    end = time.monotonic() + limit_s
    while session.speaking and time.monotonic() < end:
        lines += listened(session)
    assert not session.speaking
    return lines


def listened(session: Session) -> Heard:
    """What came within a tick; what is decoded came where events come."""
    came = session.listen(lambda line: events.Bye(rank=0))
    return [(session.processes.index(process), line, event is not None) for process, line, event in came]


def test_lines_of_each_with_where_they_came_from(play: Play) -> None:
    session = play(
        "os.write(1, sys.stdin.readline()[:10].encode()); os.write(2, b'oops')",
        "os.write(1, b'x\\n\\ny'); sys.exit(7)",
    )
    lines = heard(session)
    assert sorted(line for line in lines if line[0] == 0) == [(0, b"oops", False), (0, b'{"run_id":', True)]
    assert [line for line in lines if line[0] == 1] == [(1, b"x", True), (1, b"", True), (1, b"y", True)]
    assert [child.exit_code() for child in session.processes] == [0, 7]


def test_an_event_behind_text_without_an_end_is_an_event(play: Play) -> None:
    """As a login script leaves it."""
    lines = heard(play("os.write(1, b'welcome!\\x1e{}\\n\\x1e{a}\\n')"))
    assert lines == [(0, b"welcome!", True), (0, b"\x1e{}", True), (0, b"\x1e{a}", True)]


def test_text_without_an_end_is_cut(play: Play) -> None:
    lines = heard(play("os.write(1, b'x' * 65536)\nfor _ in range(40): os.write(1, b'x' * 65536)"))
    assert len(lines) > 2
    assert sum(len(line) for _, line, _ in lines) == 41 * 65536


def test_a_program_that_reads_late_stops_nobody(play: Play) -> None:
    """ssh reads nothing before it is connected, and a pipe holds 64 KiB."""
    begin = time.monotonic()
    session = play("time.sleep(1); print(len(sys.stdin.readline()))", "print(1)", run_id="x" * 150_000)
    session.processes[0].tell(b"more\n")
    assert time.monotonic() - begin < 0.9
    (_, line, _), other = sorted(heard(session))
    assert int(line) > 150_000
    assert other == (1, b"1", True)


def test_telling_one_that_has_ended_does_no_harm(play: Play) -> None:
    session = play("pass")
    heard(session)
    session.processes[0].tell(b"late\n")
    assert session.processes[0].exit_code() == 0


def test_noise_is_no_evidence(play: Play) -> None:
    session = play("pass")
    child = session.processes[0]
    noise = "[W1] [c10d] The hostname of the client socket cannot be retrieved. err=-3"
    for text in ("one", noise, "", "two"):
        child.hear(text)
    assert list(child.said) == ["one", "two"]


def test_what_tells_why_it_ends_stays_whatever_comes_after_it(play: Play) -> None:
    child = play("").processes[0]
    child.hear("slurmstepd: error: *** STEP 1.0 CANCELLED ***", is_telling=True)
    for number in range(1000):
        child.hear(f"a long traceback, line {number}")
    assert child.words[0] == "slurmstepd: error: *** STEP 1.0 CANCELLED ***"
    assert child.words[-1] == "a long traceback, line 999"
    assert len(child.words) < 100


def test_a_program_that_is_not_there() -> None:
    launch = NodeCommands(
        launcher="ssh", why="", commands=(Command(argv=("/no/such/ssh",), nodes=(0,)),), remote=True
    )
    session = Session(launch)
    with pytest.raises(BadInput) as refused:
        session.start(job())
    assert refused.value.message == "/no/such/ssh cannot be started: No such file or directory"
    session.end()


def test_kill_ends_what_ignores_everything(play: Play) -> None:
    session = play(
        "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "print(1, flush=True)\ntime.sleep(600)"
    )
    while not listened(session):
        pass
    pid = session.processes[0].process.pid
    session.end()
    assert processes.state(pid) in ("", "Z")
