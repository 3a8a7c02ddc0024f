"""The program as a process: its name, its streams."""

import os
import subprocess
import sys

import pytest

PROGRAM = (sys.executable, "-m", "nccltool")


def test_the_module_is_the_command() -> None:
    done = subprocess.run([*PROGRAM, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nccltool ")


def test_a_usage_error_is_two_streams_apart() -> None:
    done = subprocess.run([*PROGRAM, "probe", "--op", "bogus"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: --op: unknown operation 'bogus'\n  -> choose from all_reduce, ")


@pytest.mark.parametrize("words", [("--help",), ("runs",)])
def test_a_reader_that_went_away_is_no_error_of_ours(words: tuple[str, ...]) -> None:
    """As `nccltool runs | head` when head has read enough."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, *words], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
