"""Smoke trainings over two hosts: by ssh, by Slurm, inside jobs of srun and torchrun, and joined by hand."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.lab import slurm
from tests.lab.conftest import PORT, Start
from tests.lab.lab import Lab
from tests.lab.slurm import Slurm
from tests.lab.sshd import Sshd
from tests.support.commands import NCCLTOOL, TORCHRUN, Ended

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMIT_S = 120.0
TRAIN = ("train", "ddp,fsdp", "--steps", "3", "--time-steps", "3", "--timeout", "20")
JSON = ("--format", "json", "-q")


def assert_right(ended: Ended, world: int = 2) -> dict[str, Any]:
    """Both are right on both hosts, and the steps were timed."""
    assert ended.code == 0, ended.said
    document: dict[str, Any] = json.loads(ended.stdout)
    run = document["run"]
    told = (document["status"], run["nodes"], run["world_size"], run["hosts"], run["emulated"])
    assert told == ("pass", 2, world, ["n1", "n2"], False), ended.said
    assert [training["strategy"] for training in document["trainings"]] == ["ddp", "fsdp"]
    for training in document["trainings"]:
        assert (training["oracle"]["ok"], len(training["steps"])) == (True, 3)
        assert training["throughput_samples_per_s"] > 0
        assert len(training["peak_memory_bytes"]) == world
    return document


def test_by_ssh(lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start) -> None:
    servers = with_sshd(lab)
    command = start(lab.hosts[0], (*NCCLTOOL, *TRAIN, *JSON, "--hosts", "n[1-2]", "--ssh", " ".join(servers.ssh)))
    assert_right(command.wait(LIMIT_S))
    assert command.everything_gone()
    assert lab.quiet()


@pytest.mark.parametrize(
    "drill, code, how",
    [("kill", "rank-died", "was killed by SIGKILL"), ("hang", "rank-hung", "made no progress for")],
)
def test_a_rank_in_trouble_on_another_host(
    lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start, drill: str, code: str, how: str
) -> None:
    servers = with_sshd(lab)
    words = ("--hosts", "n[1-2]", "--ssh", " ".join(servers.ssh), "--timeout", "8")
    ended = start(
        lab.hosts[0], (*NCCLTOOL, *TRAIN, *words, *JSON), NCCLTOOL_FAULT=f"{drill}:rank=1,op=fsdp,step=2"
    ).wait(LIMIT_S)
    assert ended.code == 3, ended.said
    (problem,) = ended.problems
    assert (problem["code"], problem["subject"]["name"]) == (code, "1"), ended.said
    assert problem["message"].startswith("rank 1 on n2 "), ended.said
    assert how in problem["message"]
    assert problem["message"].endswith("in step 2 of fsdp (between forward and backward)")
    assert [training["status"] for training in ended.document["trainings"]] == ["pass", "unknown"]
    assert lab.quiet()


def test_joined_by_hand_and_collected(lab: Lab, start: Start) -> None:
    """Both print the stream of events, and one run is made of them elsewhere."""
    words = ("--nodes", "2", "--rdzv-endpoint", f"n1:{PORT}", "--events", "-q")
    logs = []
    commands = [
        start(host, (*NCCLTOOL, *TRAIN, *words, "--node-rank", str(node))) for node, host in enumerate(lab.hosts)
    ]
    for number, command in enumerate(commands):
        ended = command.wait(LIMIT_S)
        assert ended.code == 0, ended.said
        logs.append(command.folder / f"node{number}.log")
        logs[-1].write_text(ended.stdout)
    collected = start(lab.hosts[0], (*NCCLTOOL, "collect", "--format", "json", *map(str, logs))).wait(LIMIT_S)
    document = assert_right(collected)
    assert document["kind"] == "train"


def test_inside_torchrun(lab: Lab, start: Start) -> None:
    words = ("--nnodes", "2", "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"n1:{PORT}")
    commands = [
        start(host, (*TORCHRUN, *words, "--rdzv-id", "1", "-m", "nccltool", *TRAIN, *JSON)) for host in lab.hosts
    ]
    ended = [command.wait(LIMIT_S) for command in commands]
    assert [one.code for one in ended] == [0, 0], "\n".join(one.said for one in ended)
    (leader,) = (one for one in ended if one.stdout)  # rank 0 is where torchrun puts it
    assert_right(leader, world=4)


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Slurm]:
    if reason := slurm.missing():
        pytest.skip(reason)
    with Slurm(lab) as started:
        yield started


@pytest.mark.parametrize(
    ("before", "behind", "world"),
    [
        (("salloc", "-N2"), ("--nodes", "2"), 2),
        (("srun", "-N2", "--ntasks-per-node=2"), (), 4),
    ],
    ids=["in an allocation", "a rank in each task"],
)
def test_by_slurm(
    cluster: Slurm, start: Start, before: tuple[str, ...], behind: tuple[str, ...], world: int
) -> None:
    ended = start(cluster.first, (*before, *NCCLTOOL, *TRAIN, *JSON, *behind), **cluster.env).wait(LIMIT_S)
    assert_right(ended, world)
    assert cluster.lab.quiet()
