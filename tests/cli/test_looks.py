"""What the user's screen can show."""

import io
from dataclasses import replace

import click
import pytest

from nccltool.cli import looks
from nccltool.cli.options import formats, verbose
from nccltool.core.look import PLAIN, Look


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
        ({"OMPI_COMM_WORLD_RANK": "0"}, PLAIN),
    ],
)
def test_the_look_of_a_terminal(environ: dict[str, str], look: Look, on_a_terminal: pytest.MonkeyPatch) -> None:
    for name, value in environ.items():
        on_a_terminal.setenv(name, value)
    on_a_terminal.setattr("sys.stdout", tty())  # here: pytest puts its own there between a fixture and its test
    assert looks.look_of() == look


def test_the_look_of_a_stream_that_cannot_show_bars(on_a_terminal: pytest.MonkeyPatch) -> None:
    on_a_terminal.setattr("sys.stdout", tty("latin-1"))
    assert looks.look_of() == replace(FULL, unicode=False)


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
    found: list[Look] = []

    @click.command
    @formats("table")
    @verbose
    def command(form: str) -> None:
        found.append(looks.look_of("out" if where == "file" else None))

    command.main(list(words), standalone_mode=False)
    assert found == [look]


def test_progress_is_drawn_as_standard_error_can_show_it(on_a_terminal: pytest.MonkeyPatch) -> None:
    on_a_terminal.setattr("sys.stdout", tty())
    on_a_terminal.setattr("sys.stderr", io.StringIO())
    assert looks.look_of_progress() == PLAIN
    on_a_terminal.setattr("sys.stdout", io.StringIO())
    on_a_terminal.setattr("sys.stderr", tty())
    assert looks.look_of_progress() == FULL


def test_a_terminal_without_a_size_is_80_by_24(on_a_terminal: pytest.MonkeyPatch) -> None:
    on_a_terminal.delenv("COLUMNS")
    on_a_terminal.delenv("LINES")
    on_a_terminal.setattr("sys.stdout", tty())
    on_a_terminal.setattr("sys.__stdout__", None)
    assert looks.look_of() == replace(FULL, width=80, height=24)
