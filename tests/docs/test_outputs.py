"""Outputs on the pages of commands that are the same on every machine; UPDATE_GOLDEN=1 writes them there."""

import shlex
from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.docs.pages import ROOT, hold

COMMANDS = {
    "explain": ("nccltool explain SYN012", "nccltool explain NCCL_BUFFSIZE"),
    "doctor": (
        "NCCL_IB_HCA='\"mlx5_0\"' NCCL_BUFFSIZE=4M NCCL_DEBGU=INFO nccltool doctor --select SYN,TUN --fix",
    ),
    "manifest": ("nccltool manifest --image registry.example/nccltool:1 --gpus 8 probe --nodes 2",),
    "sbatch": (
        "nccltool sbatch --partition gpu --gpus-per-node 8 --time 20 "
        "--command nccltool probe --nodes 2 --op all_reduce",
    ),
}


@pytest.mark.parametrize("page", COMMANDS)
def test_what_a_page_shows_is_what_is_printed(
    page: str, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in COMMANDS[page]:
        words = shlex.split(line)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            monkeypatch.setenv(name, value)
        said = nccltool(*words[1:])
        hold(ROOT / f"docs/commands/{page}.md", f"$ {line}\n", "```\n", said.err + said.out)
