"""What a stranger does: clone, type the first command of the README. The environment is made for real."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import README, commands

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.install, pytest.mark.slow]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout: there is nothing to clone")
    folder = tmp_path_factory.mktemp("fresh") / "nccltool"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True, timeout=60)
    return folder


def _start(clone: Path, *argv: str, **env: str) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | env
    return subprocess.Popen(
        argv,
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    with process:
        out, err = process.communicate(timeout=900)
    return process.returncode, out, err


def test_two_first_uses_at_once_make_one_environment(clone: Path) -> None:
    both = [_start(clone, "scripts/nccltool", "--version") for _ in range(2)]
    ended = [_ended(process) for process in both]
    assert [(code, out.startswith("nccltool ")) for code, out, _ in ended] == [(0, True)] * 2, ended
    said = [line for _, _, err in ended for line in err.splitlines()]
    assert sum(line.startswith("nccltool: making the environment in ") for line in said) == 1, said
    assert sum("is ready after" in line for line in said) == 1, said


def test_the_first_command_of_the_readme_measures(clone: Path) -> None:
    first = next(command for command in commands(README) if command.program == "scripts/nccltool")
    # nothing may be fetched any more
    code, out, err = _ended(_start(clone, *first.argv, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_NO_INDEX="1"))
    assert code == 0, out + err
    lines = out.splitlines()
    assert any(re.match(r"2 nodes emulated on .* \(no network measured\)", line) for line in lines)
    assert sum(line.startswith("all_reduce ") for line in lines) >= 4
    assert "making the environment" not in err


def test_a_clone_stays_clean(clone: Path) -> None:
    status = ["git", "-C", str(clone), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, check=True, capture_output=True, text=True, timeout=60).stdout == ""
