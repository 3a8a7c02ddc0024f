"""The examples of docs/extending.md: added to a copy of the package, each does what the page says."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs/extending.md"
LIMIT_S = 120

_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGE = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Addition:
    """A section of the page: what is added, and what is to be seen then."""

    title: str
    text: str

    def add_to(self, copy: Path) -> None:
        for name, content in _FILE.findall(self.text):
            file = copy / name
            assert not file.exists(), f"{name} is there already"
            file.write_text(content)
        for change in _CHANGE.findall(self.text):
            subprocess.run(["git", "apply", "--recount", "-"], input=change, text=True, cwd=copy, check=True)

    @property
    def commands(self) -> list[tuple[str, str]]:
        return [found for block in _CONSOLE.findall(self.text) for found in _COMMAND.findall(block)]


def additions() -> list[Addition]:
    parts = re.split(r"\n## (?=An? )", PAGE.read_text())[1:]  # a page within an example has sections too
    return [Addition(*part.split("\n", 1)) for part in parts]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, and a `nccltool` that runs it."""
    for folder in ("nccltool", "checks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    program = tmp_path / "bin/nccltool"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} -P -m nccltool "$@"\n')
    program.chmod(0o755)
    return tmp_path


@pytest.mark.torch
@pytest.mark.parametrize("addition", additions(), ids=lambda addition: addition.title)
def test_what_is_added_works(addition: Addition, copy: Path) -> None:
    addition.add_to(copy)
    env = {**os.environ, "PATH": f"{copy / 'bin'}:{os.environ['PATH']}", "COLUMNS": "100"}
    assert addition.commands
    for line, shown in addition.commands:
        done = subprocess.run(
            ["bash", "-c", line], cwd=copy, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert shown, f"the page shows nothing of {line}: {done.stdout}{done.stderr}"
        missing = [each for each in shown.splitlines() if each not in done.stdout.splitlines()]
        assert missing == [], f"{line}:\n{done.stdout}{done.stderr}"
