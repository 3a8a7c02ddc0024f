"""What the README and the quickstart have a reader type first, on a machine with eight GPUs."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import README, ROOT, Command, commands
from tests.papergpu.conftest import OnPaper
from tests.papergpu.machines import paper
from tests.support.commands import NCCLTOOL, TORCHRUN

PAGES = (README, ROOT / "docs/quickstart.md")
DGX = paper("dgx", bus_bytes_per_s=400e9, latency_s=1e-6, instant_launch=True)
NOT_HERE = {"--hosts", "--node-rank", "--nnodes", "IMAGE", "srun", "mpirun", "salloc", "sbatch", "manifest"}
"""What asks for other hosts, or for a scheduler."""
MEASURES = {"probe", "train", "preflight"}
SMALLER = {"16MiB": "256KiB", "1MiB": "64KiB", "64M": "256K", "128M": "256K", "1M": "64K", "1G": "2M"}
"""Eight ranks share the memory of one process here, and its two cores."""
SHORTER = {
    "probe": ("--sizes", "1KiB,64KiB", "-n", "4", "-w", "1"),
    "train": ("--steps", "2", "--time-steps", "1"),
    "preflight": ("--suite", "./small.toml"),
}
SUITE = """
schema = 1
title = "As preflight, of smaller sizes"
about = "1 min"

[inventory]

[doctor]

[reach]

[within]
ops = ["all_reduce"]
sizes = ["64 KiB", "1 MiB"]

[across]
ops = ["all_reduce", "all_gather"]
sizes = ["64 KiB", "1 MiB"]

[train]
strategies = ["ddp"]
steps = 2
"""


def chosen() -> list[object]:
    """Those that measure, each once; what only the quickstart has is slow."""
    found: dict[object, object] = {}
    for page in PAGES:
        for one in commands(page):
            if MEASURES & set(one.argv) and not NOT_HERE & set(one.argv):
                marks = [] if page == README else [pytest.mark.slow]
                case = pytest.param(one, marks=marks, id=one.line.partition("#")[0].strip())
                found.setdefault((*words_of(one), *one.env.values(), one.program == "torchrun"), case)
    return list(found.values())


def smaller(text: str) -> str:
    return re.sub(r"\b\d+(?:MiB|[MG])\b", lambda found: SMALLER[found[0]], text)


def words_of(command: Command) -> tuple[str, ...]:
    """Those behind nccltool, so that they are done here in seconds."""
    words = [smaller(word) for word in command.words_of_nccltool() or ()]
    (name,) = MEASURES & set(words)
    has_sizes = {"--sizes", "-b", "-e"} & set(words)
    return (*words, *(SHORTER[name][2:] if has_sizes else SHORTER[name]), "--format", "json")


@pytest.mark.torch
@pytest.mark.parametrize("command", chosen())
def test_a_first_command(command: Command, on_paper: OnPaper, tmp_path: Path) -> None:
    (tmp_path / "0/cwd").mkdir(parents=True)
    (tmp_path / "0/cwd/small.toml").write_text(SUITE)
    argv: tuple[str, ...] = NCCLTOOL
    if command.program == "torchrun":
        own = command.argv[1 : command.argv.index("nccltool")]
        argv = (*TORCHRUN, *own, str(Path(sys.executable).parent / "nccltool"))
    env = {name: smaller(value) for name, value in command.env.items()}
    ended = on_paper(DGX, *words_of(command), argv=argv, **env)
    assert ended.code == (3 if env else 0), ended.said  # a drill does not complete
    run = json.loads(ended.stdout)["run"]
    assert (run["backend"], run["world_size"]) == ("nccl", 8), ended.said
