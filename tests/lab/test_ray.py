"""A real Ray on two hosts, where `ray` is in PATH (python -m venv v; v/bin/pip install ray; PATH=v/bin:$PATH)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.support.commands import PROBE

pytestmark = [pytest.mark.lab, pytest.mark.slow]
LIMIT_S = 300.0
SMALL = ("--num-cpus", "1", "--object-store-memory", "80000000")
QUICK = ("--op", "all_reduce", "--sizes", "1KiB", "-n", "4")


def test_the_nodes_of_a_cluster(lab: Lab, start: Start, tmp_path: Path) -> None:
    program = shutil.which("ray")
    if program is None:
        pytest.skip("needs Ray: `ray` in PATH")
    head = f"{lab.hosts[0].address}:6379"
    quiet = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    for host in lab.hosts:
        is_head = host is lab.hosts[0]
        words = ("--head", "--port", "6379", "--include-dashboard", "false") if is_head else ("--address", head)
        argv = (*host.inside, program, "start", *words, "--node-ip-address", host.address, *SMALL)
        subprocess.run(argv, env=quiet, capture_output=True, check=True, timeout=LIMIT_S)
    ended = start(lab.hosts[0], (*PROBE, *QUICK), RAY_ADDRESS=head).wait(LIMIT_S)
    assert (ended.code, ended.document["run"]["hosts"]) == (0, ["n1", "n2"]), ended.said
    assert ended.stderr.startswith(f"launcher: ray (job {head}: 2 hosts)\n")
