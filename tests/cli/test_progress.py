"""What standard error shows while ranks run: a terminal, a file, nothing."""

import io
import os
import re
import select
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from nccltool.cli import progress
from nccltool.cli.run_progress import RunNews
from nccltool.core import processes
from nccltool.core.look import Look
from nccltool.launch import events
from nccltool.launch.run_state import RunState
from nccltool.probe import plan
from nccltool.probe.job import Sizes
from nccltool.probe.memory import Room
from tests.cli.commands.test_probe import COMMAND, GOOD, LAUNCHER, measured
from tests.cli.conftest import Act
from tests.conftest import Nccltool
from tests.samples import job
from tests.support.commands import until

ROWS = [
    "all_reduce         1 KiB      2 ms  busbw 0.000512 GB/s  wrong 0",
    "ping_pong            8 B      2 ms  busbw 4.00e-06 GB/s  wrong -",
]
TWO = [*GOOD[:7], *measured(1, op="ping_pong", size=8, ms=(4,), wrong=None)]


def test_a_line_a_step_where_no_terminal_is(act: Act, nccltool: Nccltool) -> None:
    act(TWO)
    said = nccltool(*COMMAND)
    assert said.err.splitlines()[:-1] == [LAUNCHER, f"[1/2] {ROWS[0]}", f"[2/2] {ROWS[1]}"]


def test_quiet_is_quiet(act: Act, nccltool: Nccltool) -> None:
    act(TWO)
    assert nccltool(*COMMAND, "-q").err == ""


def test_what_is_left_out_is_said_before_the_first_row(act: Act, nccltool: Nccltool) -> None:
    room = Room(free=10**9, backend=0, rank=1, host="beta", of_gpu=True, sharers=1)
    large = job(ops=("all_reduce",), sizes=Sizes(listed=(2**33,)))
    left_out = plan.too_large(large, "nccl", 2, room)
    act([*GOOD[:2], *(events.Reported(finding=one) for one in left_out), *GOOD[2:]])
    assert nccltool(*COMMAND).err.splitlines()[1:3] == [
        "all_reduce at 8 GiB was left out: it needs 9.1 GB, but rank 1 on beta has 1.0 GB of its GPU free",
        f"[1/2] {ROWS[0]}",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name, value in {"TERM": "xterm", "COLUMNS": "60", "LINES": "24", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("nccltool.cli.progress._REFRESH_S", -1.0)
    return Terminal()


def screens(text: str) -> list[list[str]]:
    """What a terminal shows after each drawing; fails where more is erased than was drawn."""
    shown: list[str] = []
    screens = []
    for part in re.split(r"(\x1b\[\d+A\r\x1b\[J)", text):
        if up := re.fullmatch(r"\x1b\[(\d+)A\r\x1b\[J", part):
            assert int(up[1]) <= len(shown)
            del shown[-int(up[1]) :]
        else:
            assert "\x1b" not in part
            shown += part.splitlines()
            screens.append(list(shown))
    return screens


def without_times(line: str) -> str:
    return re.sub(r"\d[\d.e-]* (s|ms|us)\b", "TIME", line)


def test_bar_step_and_rows_on_a_terminal(
    act: Act, nccltool: Nccltool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    act(GOOD)
    nccltool(*COMMAND, COLUMNS="60")
    drawn = [screen for screen in screens(terminal.getvalue()) if screen]
    assert {screen[0] for screen in drawn[:-1]} == {LAUNCHER}
    seen = [[without_times(line) for line in screen[1:]] for screen in drawn]
    bars = list(dict.fromkeys(screen[0] for screen in seen if screen))
    full, half = "\u2501" * 20, "\u2501" * 10 + "\u2500" * 10
    assert bars == [
        "waiting for ranks: 1 of 2 joined, TIME",
        "waiting for ranks: 2 of 2 joined, TIME",
        "\u2500" * 20 + "  0/2  TIME",
        "\u2500" * 20 + "  0/2  all_reduce 1 KiB  TIME",
        half + "  1/2  all_reduce 1 KiB  TIME",
        half + "  1/2  all_reduce 1 MiB  TIME",
        full + "  2/2  all_reduce 1 MiB  TIME",
    ]
    assert seen[-2][1].startswith("all_reduce         1 KiB")
    assert max(len(line) for screen in drawn[:-1] for line in screen) < 60
    (after,) = screens(terminal.getvalue())[-1]
    assert after.startswith("saved to ")


def test_the_launcher_stays_with_v(
    act: Act, nccltool: Nccltool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    act(GOOD)
    nccltool(*COMMAND, "-v")
    assert screens(terminal.getvalue())[-1][0] == LAUNCHER


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("TERM", "")])
def test_a_terminal_that_cannot_be_drawn_on_gets_lines(
    name: str,
    value: str,
    act: Act,
    nccltool: Nccltool,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", terminal)
    act(TWO)
    nccltool(*COMMAND)
    assert terminal.getvalue().splitlines()[1:-1] == [f"[1/2] {ROWS[0]}", f"[2/2] {ROWS[1]}"]


def test_events_on_standard_output_are_not_drawn_over(
    act: Act, nccltool: Nccltool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    act(TWO)
    nccltool(*COMMAND, "--events")
    assert "\x1b" not in terminal.getvalue()


@pytest.fixture
def live(terminal: Terminal) -> progress.Progress[RunState]:
    return progress._Live(terminal, lambda: Look(width=60, height=10), RunNews())


def played(live: progress.Progress[RunState], count: int) -> None:
    state = RunState(job(), 2, now=0.0)
    rows = [event for number in range(count) for event in measured(number)]
    for event in [*GOOD[:7], *rows]:
        state.apply(event, 1.0)
        live.update(state)


def test_rows_fill_no_more_than_the_screen(live: progress.Progress[RunState], terminal: Terminal) -> None:
    played(live, 30)
    assert max(map(len, screens(terminal.getvalue()))) <= 10 - 2


def test_a_window_that_is_made_smaller(terminal: Terminal) -> None:
    looks = [Look(width=60, height=24), Look(width=60, height=24), Look(width=20, height=8)]
    played(progress._Live(terminal, lambda: looks.pop(0) if len(looks) > 1 else looks[0], RunNews()), 30)
    last = screens(terminal.getvalue())[-1]
    assert (len(last), max(map(len, last))) == (8 - 5 + 1, 20 - 1)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_the_terminal_is_left_in_order(
    raised: type[BaseException], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    with pytest.raises(raised), progress.shown(RunNews(), LAUNCHER, is_silent=False) as live:
        played(live, 3)
        raise raised
    assert screens(terminal.getvalue())[-1] == []


STOPPED_AND_RESUMED = """
import os, sys
from nccltool.cli import progress

class News:
    notes = rows = lambda self, state: []
    status = lambda self, state, now, look: "status"

progress._REFRESH_S = 0
with progress.shown(News(), "heading", False) as shown:
    shown.update(None)
    os.kill(os.getpid(), int(sys.argv[1]))
    print("said by the shell", file=sys.stderr)
    shown.update(None)
"""


@pytest.mark.parametrize(
    ("number", "erased"), [(signal.SIGTSTP, True), (signal.SIGSTOP, False)], ids=["Ctrl-Z", "nobody could know"]
)
def test_what_was_said_while_it_was_stopped_is_not_drawn_over(number: signal.Signals, erased: bool) -> None:
    master, terminal = os.openpty()
    env = {**os.environ, "TERM": "xterm"}
    words = [sys.executable, "-c", STOPPED_AND_RESUMED, str(int(number))]
    block = "heading\r\nstatus\r\n"
    with subprocess.Popen(words, stderr=terminal, env=env, process_group=0) as process:
        assert until(lambda: processes.state(process.pid) == "T", 20.0)
        assert _said(master, block + ("\x1b[2A\r\x1b[J" if erased else ""))
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(20.0) == 0
    assert _said(master, f"said by the shell\r\n{block}\x1b[2A\r\x1b[J")
    os.close(terminal)
    os.close(master)


def _said(master: int, expected: str) -> bool:
    """Whether a terminal shows exactly this: the kernel hands on in pieces what was written."""
    found = ""
    while len(found) < len(expected) and select.select([master], [], [], 20.0)[0]:
        found += os.read(master, 4096).decode()
    return found == expected


def test_a_terminal_that_does_not_take_more_holds_nothing_up() -> None:
    """As after Ctrl-S: nothing is written until it can be, and what was due is not lost."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with open(reader, "rb") as read, closing(open(writer, "w")) as stream:
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        lines = progress._Lines(stream, RunNews())
        played(lines, 2)
        read.read1(2**20)
        played(lines, 0)
        lines.end()
        stream.flush()
        assert read.read1(2**20).decode().splitlines()[0].startswith("[1/2] all_reduce")


def test_a_reader_that_went_away_does_not_end_the_run() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError), open(writer, "w") as stream:  # when it is closed, not before
        lines = progress._Lines(stream, RunNews())
        played(lines, 2)
        lines.end()
        was_shown = True
    assert was_shown


def test_nothing_that_ranks_say_acts_on_the_terminal(
    live: progress.Progress[RunState], terminal: Terminal
) -> None:
    state = RunState(job(), 2, now=0.0)
    nasty = events.Enter(rank=0, step=0, op="all_reduce", bytes=8, label="\x1b[2J\nroot#")
    for event in [*GOOD[:5], nasty]:
        state.apply(event, 1.0)
        live.update(state)
    assert "\x1b[2J" not in terminal.getvalue()
    assert "\\x1b[2J\\nroot#" in terminal.getvalue()
