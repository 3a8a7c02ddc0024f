"""The programs on the page of the Python API, played: as a program, and in a training script."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.support.commands import clean_environment

pytestmark = pytest.mark.torch
PROGRAM, IN_A_SCRIPT, GROUPS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/api.md").read_text(), re.DOTALL)
GROUP = """
import torch.distributed as dist
from nccltool import api

dist.init_process_group("gloo", init_method="file://{}/store", rank=0, world_size=1)
"""
IN_ONE_PROCESS = GROUP + "\n" + GROUPS.replace("[[0, 2], [1, 3], [0, 1], [2, 3]]", "[[0]]")


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (PROGRAM, r"(pass|warn) [\d.]+\n"),
        (GROUP + IN_A_SCRIPT + "\nprint(found.world_size)", r"1\n"),
        (IN_ONE_PROCESS, r""),
    ],
    ids=["program", "script", "groups"],
)
def test_a_program_of_the_page(program: str, printed: str, tmp_path: Path) -> None:
    env = clean_environment() | {"XDG_STATE_HOME": str(tmp_path)}
    argv = [sys.executable, "-c", program.replace("{}", str(tmp_path))]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(printed, done.stdout)
