"""Ctrl-C ends with 130, wherever Python is just then."""

import subprocess
import sys

import pytest

WITHIN_A_CLASS = """
class Sender:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)

class Owner:
    sender = Sender()
"""
IN_AN_IMPORT = "os.kill(os.getpid(), signal.SIGINT)"
PROGRAM = """
import os, signal, sys, types
import nccltool.cli

def run():
{work}

sys.modules["nccltool.cli.root"] = types.SimpleNamespace(run=run)
nccltool.cli.main()
"""


@pytest.mark.parametrize("work", [IN_AN_IMPORT, WITHIN_A_CLASS], ids=["anywhere", "where a class is made"])
def test_interrupted(work: str) -> None:
    indented = "".join(f"    {line}\n" for line in work.splitlines())
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(work=indented)],
        capture_output=True,
        timeout=60,
        check=False,
        restore_signals=True,
    )
    assert (ended.returncode, ended.stderr) == (130, b"")


AT_THE_END = "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGTERM)"


def test_a_signal_behind_the_last_line_changes_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(work=f"    {AT_THE_END}; sys.exit(3)")],
        capture_output=True,
        timeout=60,
        check=False,
        restore_signals=True,
    )
    assert (ended.returncode, ended.stderr) == (3, b"")


def test_nothing_heavy_is_imported_before_signals_are_taken() -> None:
    asked = "import sys, nccltool.cli; print('click' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, timeout=60, check=True)
    assert said.stdout == b"False\n"
