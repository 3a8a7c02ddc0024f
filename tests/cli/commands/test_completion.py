"""Completion in a real bash, with its own splitting of words at = and :."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.core.run_directory import RunDir
from nccltool.triage import causes

_ASK = r"""
eval "$(nccltool completion bash)"
compopt() { printf 'compopt %s %s\n' "$1" "$2"; }
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_nccltool_completion nccltool "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
complete -p nccltool
"""


@pytest.fixture
def bash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shell = shutil.which("bash")
    assert shell
    program = tmp_path / "bin/nccltool"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nccltool "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return Path(shell)


def _completed(bash: Path, line: str) -> list[str]:
    """What Tab offers behind a line; readline cuts it at blanks, = and :, each = and : a word of its own."""
    words = re.findall(r"[=:]|[^\s=:]+", line) + [""] * line.endswith(" ")
    argv = [str(bash), "--norc", "-c", _ASK, "bash", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    *offered, registered = done.stdout.splitlines()
    assert registered.startswith("complete ")
    assert registered.endswith("-F _nccltool_completion nccltool")
    return [word for word in offered if word]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nccltool pro", ["probe"]),
        ("nccltool probe --op all_re", ["all_reduce"]),
        ("nccltool probe --op broadcast,all_re", ["broadcast,all_reduce"]),
        ("nccltool probe --op=broadcast,all_re", ["broadcast,all_reduce"]),
        ("nccltool probe --backend=", ["auto", "nccl", "gloo"]),
        ("nccltool probe --step-", ["--step-factor", "--step-bytes"]),
        ("nccltool train pipe", ["pipeline"]),
        ("nccltool preflight --only ac", ["across"]),
        ("nccltool preflight --suite nig", ["nightly"]),
        ("nccltool doctor --select SYN00", [f"SYN00{number}" for number in range(1, 10)]),
        ("nccltool explain ib-l", ["ib-link"]),
        ("nccltool triage ./no", ["compopt -o default"]),
        ("nccltool baseline sa", ["save"]),
        ("nccltool completion ", ["bash", "zsh", "fish"]),
        ("nccltool help ru", ["runs"]),
        ("nccltool help baseline sa", ["save"]),
        ("nccltool help probe ", []),
    ],
)
def test_in_bash(line: str, words: list[str], bash: Path) -> None:
    assert _completed(bash, line) == words


def test_runs_and_baselines_in_bash(bash: Path, tmp_path: Path) -> None:
    """Of the state folder; a word with a colon is completed behind it."""
    from nccltool.compare import baselines
    from tests.compare.samples import run

    RunDir(tmp_path / "state/nccltool/runs", "20260101T000000Z-0001", b"{}").close()
    baselines.Store(baselines.default_file()).save("healthy", "", [run("r1", [1.0])], "new")
    assert _completed(bash, "nccltool runs 2026") == ["20260101T000000Z-0001"]
    assert _completed(bash, "nccltool compare la") == ["latest"]
    assert _completed(bash, "nccltool compare latest baseline:he") == ["healthy"]
    assert _completed(bash, "nccltool baseline show he") == ["healthy"]


def test_a_name_that_is_a_command_of_the_shell_is_quoted(bash: Path, tmp_path: Path) -> None:
    RunDir(tmp_path / "state/nccltool/runs", "$(touch x)", b"{}").close()
    assert _completed(bash, "nccltool triage $") == [r"\$\(touch\ x\)"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_call_the_same_completion(shell: str) -> None:
    argv = [sys.executable, "-m", "nccltool", "completion", shell]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert f"_NCCLTOOL_COMPLETE={shell}_complete" in done.stdout


def test_every_root_cause_is_completed(bash: Path) -> None:
    assert set(causes.LABELS) <= set(_completed(bash, "nccltool explain "))
