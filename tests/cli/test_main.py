"""The program as a process: its name, its streams."""

import subprocess
import sys

PROGRAM = (sys.executable, "-m", "nccltool")


def test_the_module_is_the_command() -> None:
    done = subprocess.run([*PROGRAM, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nccltool ")


def test_a_usage_error_is_two_streams_apart() -> None:
    done = subprocess.run([*PROGRAM, "probe", "--op", "bogus"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: --op: unknown operation 'bogus'\n  -> choose from all_reduce, ")
