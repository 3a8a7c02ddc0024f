"""What is shown of a preflight while it lasts: a terminal, a pipe, nothing, Ctrl-C."""

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nccltool.cli import progress
from nccltool.cli.preflight_progress import StageNews
from nccltool.core.look import Look
from nccltool.preflight.activity import Activity, StageEnd
from tests.cli.commands.test_probe import LAUNCHER
from tests.cli.test_progress import Terminal, screens, terminal
from tests.conftest import Nccltool
from tests.support.commands import clean_environment

__all__ = ["terminal"]
NOW = 100.0
DONE = (
    StageEnd(stage="inventory", result="pass", seconds=0.31),
    StageEnd(stage="doctor", result="warn", seconds=1.2),
    StageEnd(stage="reach", result="skip", seconds=0.0, reason="the nodes are\nprocesses of this host"),
)
ROWS = ["inventory: pass, 0.3 s", "doctor: warn, 1.2 s", r"reach: skip (the nodes are\nprocesses of this host)"]
WORDS = ("preflight", "--nodes", "2", "--only", "inventory,reach")
SAID = ["inventory: pass", "reach: skip (the nodes are processes on this host, so there is no network to test)"]


def activity(**changed: object) -> Activity:
    plain = Activity(planned=6, started_at=NOW - 12.0, ends=list(DONE), stage="within", step="probe on n[1-2]")
    for name, value in changed.items():
        setattr(plain, name, value)
    return plain


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (Activity(planned=6, started_at=NOW - 0.2), "-------------------- 0/6 200 ms"),
        (activity(), "##########---------- 3/6 within: probe on n[1-2] 12 s"),
        (
            activity(ends_at=NOW + 5, later_s=20.0),
            "##########---------- 3/6 within: probe on n[1-2] 12 s about 25 s left",
        ),
        (
            activity(ends_at=NOW - 9, later_s=20.0),
            "##########---------- 3/6 within: probe on n[1-2] 12 s about 20 s left",
        ),
        (activity(stage="", step="", later_s=20.0), "##########---------- 3/6 12 s"),
        (activity(step="\x1b[2J"), r"##########---------- 3/6 within: \x1b[2J 12 s"),
    ],
)
def test_the_current_stage(state: Activity, line: str) -> None:
    shown = StageNews().status(state, NOW, Look(unicode=False))
    assert re.sub(r"[\[\]](?=[#-])|(?<=[#-])\]|  +", " ", shown).split() == line.split()


def test_stages_that_are_done_stand_below_it_and_go_at_the_end(terminal: Terminal) -> None:
    live = progress._Live(terminal, lambda: Look(width=70, height=24), StageNews(), LAUNCHER)
    state = activity(ends=[])
    for ended in DONE:
        state.ends.append(ended)
        live.update(state)
    live.end()
    seen = screens(terminal.getvalue())
    assert [screen[2:] for screen in seen[:-1] if screen] == [ROWS[:1], ROWS[:2], ROWS]
    assert seen[-1] == []


def test_a_line_a_stage_where_no_terminal_is(nccltool: Nccltool) -> None:
    first, *lines, saved = nccltool(*WORDS).err.splitlines()
    assert (first, saved[:9]) == (LAUNCHER, "saved to ")
    assert [re.sub(r", [\d.]+ s$", "", line) for line in lines] == SAID


def test_quiet_is_quiet(nccltool: Nccltool) -> None:
    assert nccltool(*WORDS, "-q").err == ""


def test_on_a_terminal_the_result_alone_stays(
    nccltool: Nccltool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    done = nccltool(*WORDS, COLUMNS="80")
    seen = screens(terminal.getvalue())
    assert any(LAUNCHER in screen for screen in seen)
    assert [line[:9] for line in seen[-1]] == ["saved to "]
    assert done.out.startswith(f"PASS preflight on {socket.gethostname()}: ")


@pytest.mark.torch
def test_interrupted(tmp_path: Path) -> None:
    """As with Ctrl-C while ranks run: what was done is counted, and kept."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nccltool", "preflight", "--nodes", "2", "--skip", "doctor", "--run-dir", tmp_path],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("within: "):
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.splitlines()[0].rpartition(": ")[0]) == (
        130,
        f"INCOMPLETE interrupted: 1 of 3 stages: preflight on {socket.gethostname()}",
    )
