"""What a command that starts ranks shows while they run, and where no result is to be shown."""

import io
import re
from dataclasses import replace
from pathlib import Path

import click
import pytest

from nccltool.cli import screen
from nccltool.cli.options import formats, verbose
from nccltool.core.look import PLAIN, Look
from nccltool.launch import events
from nccltool.probe import plan
from nccltool.probe.job import Sizes
from nccltool.probe.memory import Room
from tests.cli.conftest import Act
from tests.cli.test_probe import COMMAND, DIED, GOOD, HELLO, measured
from tests.conftest import Nccltool
from tests.samples import job


def test_rows_as_they_come(act: Act, nccltool: Nccltool) -> None:
    act([*GOOD[:7], *measured(1, op="ping_pong", size=8, ms=(4,), wrong=None)])
    said = nccltool(*COMMAND, "-v")
    assert said.err.splitlines()[1:-1] == [
        "all_reduce          1 KiB      2 ms busbw 0.000512 GB/s  wrong 0",
        "ping_pong             8 B      2 ms busbw 4.00e-06 GB/s  wrong -",
    ]


def test_what_is_left_out_is_said_before_the_first_row(act: Act, nccltool: Nccltool) -> None:
    room = Room(free=10**9, backend=0, rank=1, host="beta", of_gpu=True, sharers=1)
    large = job(ops=("all_reduce",), sizes=Sizes(listed=(2**33,)))
    left_out = plan.too_large(large, "nccl", 2, room)
    act([*GOOD[:2], *(events.Reported(finding=one) for one in left_out), *GOOD[2:]])
    said = nccltool(*COMMAND, "-v").err.splitlines()[1:3]
    assert said == [
        "all_reduce at 8 GiB was left out: it needs 9.1 GB, rank 1 on beta has 1.0 GB of its GPU free",
        "all_reduce          1 KiB      2 ms busbw 0.000512 GB/s  wrong 0",
    ]


def test_no_progress_line_where_no_terminal_is(act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    assert "\r" not in nccltool(*COMMAND).err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("words", "shown"), [((), True), (("-q",), False)])
def test_progress_on_a_terminal(
    words: tuple[str, ...], shown: bool, act: Act, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nccltool.cli.screen._REFRESH_S", -1.0)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    act(GOOD)
    nccltool(*COMMAND, *words)
    lines = [re.sub(r", \S+ \S+$| \S+ u?m?s$", "", line) for line in terminal.getvalue().split("\r\x1b[K")[1:-1]]
    assert list(dict.fromkeys(lines)) == (
        [
            "1 of 2 ranks are here",
            "2 of 2 ranks are here",
            "[0/2]",
            "[0/2] all_reduce 1 KiB",
            "[1/2] all_reduce 1 KiB",
            "[1/2] all_reduce 1 MiB",
            "[2/2] all_reduce 1 MiB",
        ]
        if shown
        else []
    )


def test_a_command_whose_rank_0_is_elsewhere_shows_only_what_went_wrong(
    tmp_path: Path, act: Act, nccltool: Nccltool
) -> None:
    words = (*COMMAND, "--node-rank", "1", "--rdzv-endpoint", "alpha:29500", "--output", str(tmp_path / "out"))
    act(HELLO[1:])
    said = nccltool(*words)
    assert (said.code, said.out, said.err) == (0, "", "")
    act(HELLO[1:], [DIED])
    said = nccltool(*words)
    assert (said.code, said.out, said.err) == (3, "", f"ERROR rank-died: {DIED.message}\n")
    assert not (tmp_path / "out").exists()


class Tty(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def tty(encoding: str = "utf-8") -> Tty:
    return Tty(io.BytesIO(), encoding=encoding)


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("NO_COLOR", "TERM", "LC_ALL", "LC_CTYPE", "LANG", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    return monkeypatch


FULL = Look(width=100, height=30, colors=True)


@pytest.mark.parametrize(
    ("environ", "look"),
    [
        ({}, FULL),
        ({"NO_COLOR": "1"}, replace(FULL, colors=False)),
        ({"NO_COLOR": ""}, FULL),
        ({"TERM": "dumb"}, replace(FULL, colors=False)),
        ({"LC_ALL": "C"}, replace(FULL, unicode=False)),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, replace(FULL, unicode=False)),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, replace(FULL, unicode=False)),  # as Python sets it then
        ({"LC_CTYPE": "C.UTF-8"}, FULL),
        ({"LANG": "de_DE.ISO-8859-1"}, replace(FULL, unicode=False)),
        ({"LANG": "C.utf8"}, FULL),
        ({"LANG": "en_US.UTF-8"}, FULL),
        ({"COLUMNS": "80", "LINES": "24"}, replace(FULL, width=80, height=24)),
    ],
)
def test_the_look_of_a_terminal(environ: dict[str, str], look: Look, on_a_terminal: pytest.MonkeyPatch) -> None:
    for name, value in environ.items():
        on_a_terminal.setenv(name, value)
    on_a_terminal.setattr("sys.stdout", tty())  # here: pytest puts its own there between a fixture and its test
    assert screen.look_of() == look


def test_the_look_of_a_stream_that_cannot_show_bars(on_a_terminal: pytest.MonkeyPatch) -> None:
    on_a_terminal.setattr("sys.stdout", tty("latin-1"))
    assert screen.look_of() == replace(FULL, unicode=False)


@pytest.mark.parametrize(
    ("words", "where", "look"),
    [
        ((), "terminal", FULL),
        (("--color", "never"), "terminal", replace(FULL, colors=False)),
        (("--color", "always"), "dumb", FULL),
        (("-v",), "terminal", replace(FULL, verbose=True)),
        ((), "pipe", PLAIN),
        (("--color", "always"), "pipe", Look(colors=True)),
        (("-v",), "pipe", Look(verbose=True)),
        ((), "file", PLAIN),
    ],
)
def test_the_look_that_is_asked_for(
    words: tuple[str, ...], where: str, look: Look, on_a_terminal: pytest.MonkeyPatch
) -> None:
    on_a_terminal.setattr("sys.stdout", io.StringIO() if where == "pipe" else tty())
    if where == "dumb":
        on_a_terminal.setenv("TERM", "dumb")
    looks: list[Look] = []

    @click.command
    @formats("table")
    @verbose
    def command(form: str) -> None:
        looks.append(screen.look_of("out" if where == "file" else None))

    command.main(list(words), standalone_mode=False)
    assert looks == [look]
