"""Readers that have gone: no traceback, and the exit code that the command has found."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_main import PROGRAM

LOG = "NCCL WARN Cuda failure 'out of memory'\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--help",), 0),
        (("probe", "--help"), 0),
        (("runs",), 0),
        (("triage", "LOG"), 1),
        (("explain", "busbw-low"), 0),
    ],
)
def test_nobody_reads_the_result(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    assert _ended(words, tmp_path, err=False) == (code, "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("runs",), 0),
        (("nonsense",), 2),
        (("probe", "--op", "bogus"), 2),
        (("triage", "LOG"), 1),
        (("--help",), 0),
    ],
)
def test_nobody_reads_anything(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    assert _ended(words, tmp_path, err=True) == (code, "")


@pytest.mark.parametrize(("words", "code"), [(("runs",), 0), (("nonsense",), 2), (("triage", "LOG"), 1)])
def test_a_terminal_that_was_closed(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    (tmp_path / "LOG").write_text(LOG)
    master, terminal = os.openpty()
    os.close(master)
    try:
        done = subprocess.run([*PROGRAM, *words], stderr=terminal, stdout=terminal, check=False, cwd=tmp_path)
    finally:
        os.close(terminal)
    assert done.returncode == code


@pytest.mark.parametrize(("words", "code"), [(("runs", "--bogus"), 2), (("triage", "LOG", "--output", "OUT"), 1)])
def test_standard_error_that_is_full(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    (tmp_path / "LOG").write_text(LOG)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, *words], stderr=full, stdout=subprocess.DEVNULL, check=False, cwd=tmp_path
        )
    assert done.returncode == code


def _ended(words: tuple[str, ...], folder: Path, err: bool) -> tuple[int, str]:
    (folder / "LOG").write_text(LOG)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*PROGRAM, *words],
        stdout=writer,
        stderr=writer if err else subprocess.PIPE,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder)},
    )
    os.close(writer)
    return done.returncode, done.stderr or ""
