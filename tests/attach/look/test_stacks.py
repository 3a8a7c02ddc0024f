"""Stacks of processes by py-spy."""

import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.attach.look import stacks
from nccltool.attach.seen.process import StackFrame, ThreadStack
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree

_PROGRAM = """
def waits():
    input()
print("here", flush=True)
waits()
"""


def test_the_stack_of_a_process(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_PROGRAM)
    command = [sys.executable, str(tmp_path / "train.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        taken = stacks.taken([started.pid, 2**22 + 1], Tree())
        assert started.poll() is None
        started.communicate(b"\n")
    found = taken[started.pid]
    assert not isinstance(found, Unknown)
    (main,) = found
    assert main.trains and not main.is_native
    assert [(frame.name, frame.line, frame.text) for frame in main.frames] == [
        ("waits", 3, "input()"),
        ("<module>", 5, ""),
    ]
    assert isinstance(taken[2**22 + 1], Unknown)


_FLAKY = """#!/bin/sh
echo once >> {count}
if [ $(wc -l < {count}) -lt {good} ]; then echo "Error: {says}" >&2; exit 1; fi
echo '[{{"pid": 1, "thread_name": "MainThread", "active": true, "owns_gil": false, "frames": []}}]'
"""


@pytest.mark.parametrize(
    ("says", "good", "tries"),
    [
        ("Failed to get stack traces", 3, 3),
        ("Failed to get stack traces", 9, 3),
        ("Permission denied", 2, 1),
    ],
)
def test_a_torn_stack_is_read_again(
    says: str, good: int, tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, count = tmp_path / "py-spy", tmp_path / "count"
    program.write_text(_FLAKY.format(count=count, good=good, says=says))
    program.chmod(0o755)
    monkeypatch.setattr(stacks, "program", lambda: str(program))
    found = stacks.taken([1], Tree())[1]
    assert isinstance(found, Unknown) is (tries < good)
    assert len(count.read_text().splitlines()) == tries


def test_without_py_spy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "program", lambda: None)
    why = stacks.taken([1], Tree())[1]
    assert isinstance(why, Unknown)
    assert stacks.missing_right(why.reason) == "pip install 'nccltool[attach]'"


@pytest.mark.parametrize(
    ("reason", "missing"),
    [
        ("Permission Denied: Try running again with elevated permissions", "CAP_SYS_PTRACE"),
        ("Failed to find python version from target process", ""),
    ],
)
def test_the_right_that_is_missing(reason: str, missing: str) -> None:
    assert stacks.missing_right(reason).partition(":")[0] == missing


@pytest.mark.parametrize(
    ("file", "trains", "expected"),
    [
        ("/venv/torch/utils/data/dataloader.py", True, True),
        ("/venv/torch/utils/data/dataloader.py", False, False),
        ("/home/me/train.py", True, False),
    ],
)
def test_who_waits_for_loader_workers(file: str, trains: bool, expected: bool) -> None:
    one = ThreadStack(pid=1, name="", trains=trains, frames=(StackFrame(name="f", file=file),))
    assert stacks.waits_for_workers([one]) is expected
