"""Checkpoints and restarts over two hosts: by ssh, by Slurm; with folders that differ; without a lost host."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import slurm
from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.slurm import Slurm
from tests.lab.sshd import Sshd
from tests.support.commands import NCCLTOOL, Ended, until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMIT_S = 150.0
TRAIN = (*NCCLTOOL, "train", "fsdp", "--time-steps", "0", "--momentum", "0.9", "--format", "json", "-q")
DRILL = ("--kill-rank", "1", "--at-step", "4", "--max-restarts", "1", "--timeout", "15")


def document(ended: Ended) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def errors(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in told["findings"] if finding["severity"] == "error"]


def assert_it_went_on(ended: Ended) -> None:
    assert ended.code == 0, ended.said
    told = document(ended)
    assert (told["status"], told["run"]["hosts"]) == ("pass", ["n1", "n2"]), ended.said
    (restart,) = told["restarts"]
    assert (restart["code"], restart["step"], restart["resumed_from"]) == ("rank-died", 4, 3)
    assert restart["message"].startswith("rank 1 on n2 ")
    assert ([step["step"] for step in told["steps"]], told["oracle"]["ok"]) == ([1, 2, 3, 4, 5, 6], True)


def test_by_ssh(lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start, tmp_path: Path) -> None:
    words = ("--hosts", "n[1-2]", "--ssh", " ".join(with_sshd(lab).ssh), "--checkpoint", str(tmp_path / "c"))
    command = start(lab.hosts[0], (*TRAIN, *words, *DRILL))
    assert_it_went_on(command.wait(LIMIT_S))
    assert command.everything_gone()
    assert lab.quiet()


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Slurm]:
    if reason := slurm.missing():
        pytest.skip(reason)
    with Slurm(lab) as started:
        yield started


def test_in_an_allocation_of_slurm(cluster: Slurm, start: Start, tmp_path: Path) -> None:
    words = ("--nodes", "2", "--checkpoint", str(tmp_path / "c"))
    ended = start(cluster.first, ("salloc", "-N2", *TRAIN, *words, *DRILL), **cluster.env).wait(LIMIT_S)
    assert_it_went_on(ended)
    assert cluster.lab.quiet()


@pytest.mark.parametrize("how", [("scancel", "--signal=TERM"), ("scancel",)], ids=" ".join)
def test_a_rank_in_each_task_of_srun_saves_when_slurm_ends_it(
    lab: Lab, start: Start, tmp_path: Path, how: tuple[str, ...]
) -> None:
    """It sends SIGTERM to every process: `sbatch --signal=TERM@60` before the time limit, and any end of a job."""
    if reason := slurm.missing():
        pytest.skip(reason)
    folder = tmp_path / "c"
    words = ("--checkpoint", str(folder), "--checkpoint-every", "9999", "--steps", "9999", "--grace", "20")
    with Slurm(lab, kill_wait_s=30) as cluster:
        command = start(cluster.first, ("srun", "-N2", "-n2", *TRAIN, *words), **cluster.env)
        assert until(
            lambda: any(e["event"] == "trained-step" and e["number"] == 2 for e in command.events()), 90.0
        )
        ((job, *_),) = cluster.jobs("JobID")
        cluster.run(*how, job)
        ended = command.wait(LIMIT_S)
    (problem,) = errors(document(ended))
    assert problem["code"] == "emergency-checkpoint", ended.said
    (saved,) = (folder / "fsdp").glob("step-*")
    assert f"all ranks saved step {int(saved.name[5:])}, " in problem["message"]
    assert lab.quiet()


OWN_FOLDER = """#!/bin/sh
[ "$(hostname)" = n2 ] || exec {python} "$@"
exec unshare --mount sh -c 'mount -t tmpfs none {folder} && exec {python} "$@"' - "$@"
"""


def test_a_folder_that_the_hosts_do_not_share(
    lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start, tmp_path: Path
) -> None:
    folder, program = tmp_path / "c", tmp_path / "python"
    folder.mkdir()
    program.write_text(OWN_FOLDER.format(python=sys.executable, folder=folder))
    program.chmod(0o755)
    words = ("--hosts", "n[1-2]", "--ssh", " ".join(with_sshd(lab).ssh), "--remote-python", str(program))
    ended = start(lab.hosts[0], (*TRAIN, *words, "--checkpoint", str(folder), "--max-restarts", "2")).wait(LIMIT_S)
    assert ended.code == 3, ended.said
    (problem,) = ended.problems
    assert problem["code"] == "checkpoint-not-shared", ended.said
    assert problem["message"] == (
        f"--checkpoint {folder} is not the same folder everywhere: rank 1 on n2 does not see what rank 0 wrote"
    )
    assert document(ended)["restarts"] == []
    assert list(folder.iterdir()) == []


def test_without_a_host_that_is_gone(
    lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start, tmp_path: Path
) -> None:
    """The global batch stays: the rank that is left has all of it."""
    folder = tmp_path / "c"
    words = ("--hosts", "n[1-2]", "--ssh", " ".join(with_sshd(lab).ssh), "--keep-going", "--timeout", "10")
    many = ("--steps", "60", "--checkpoint", str(folder), "--checkpoint-every", "5", "--max-restarts", "2")
    command = start(lab.hosts[0], (*TRAIN, *words, *many))
    assert until(lambda: (folder / "fsdp/step-000010").exists(), 60.0)
    lab.hosts[1].kill_everything()
    ended = command.wait(LIMIT_S)
    told = document(ended)
    assert (ended.code, told["run"]["hosts"], told["oracle"]["ok"]) == (3, ["n1"], True), ended.said
    assert [(error["subject"]["name"], error["code"][:5]) for error in errors(told)] == [("n2", "host-")], (
        ended.said
    )
    assert [step["step"] for step in told["steps"]] == list(range(1, 61))
    assert told["restarts"][-1]["resumed_from"] >= 10
