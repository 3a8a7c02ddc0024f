"""nccltool slurm-prolog, as Slurm starts it."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.preflight.test_scheduler_hooks import REASON
from tests.support.commands import clean_environment


@pytest.mark.parametrize("drain", [True, False])
def test_a_low_limit(drain: bool, tmp_path: Path) -> None:
    """In a process of its own, for a limit cannot be raised again."""
    words = ["--drain"] if drain else []
    done = subprocess.run(
        [sys.executable, "-m", "nccltool", "slurm-prolog", *words],
        env={**clean_environment(), "PATH": str(tmp_path), "NCCL_SOCKET_IFNAME": "nowhere"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, f"{REASON}\n")
    assert done.stderr.startswith("soft 1024, hard 1024\n-> ")
    assert ("scontrol failed: `scontrol show node` cannot be started: " in done.stderr) is drain


def test_words_that_cannot_be_used(nccltool: Nccltool) -> None:
    done = nccltool("slurm-prolog", "--resume")
    assert (done.code, done.out) == (2, "")
    assert "--resume needs --drain" in done.err
    assert nccltool("slurm-prolog", "--select", "NOSUCH").code == 2


def test_a_healthy_node_is_told_nothing(nccltool: Nccltool) -> None:
    done = nccltool("slurm-prolog", "--select", "LIM", "--ignore", "LIM001")
    assert (done.code, done.out, done.err) == (0, "", "")
