"""The launcher in a cluster of Ray: a stand-in for the Python that has Ray prints what ray.nodes() says."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch.launchers import ray
from nccltool.launch.launchers.base import EndWord
from nccltool.launch.reach import ray_driver
from tests.launch.test_order import chosen


def node(number: int, *, alive: bool = True, host: str = "", **resources: float) -> dict[str, object]:
    """A row of ray.nodes() of Ray 2.60, shortened."""
    return {
        "NodeID": f"{number:056x}",
        "Alive": alive,
        "NodeManagerAddress": f"10.77.0.{number}",
        "NodeManagerHostname": host or f"n{number}",
        "NodeManagerPort": 33557,
        "Resources": {"memory": 21125303296.0, f"node:10.77.0.{number}": 1.0, **resources},
    }


TWO = [node(2, CPU=1.0), node(1, CPU=1.0)]


class Cluster:
    """A folder with `ray` and the Python beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.says("echo '[]'")

    def has(self, nodes: list[dict[str, object]]) -> None:
        self.says(f"cat <<'END'\n{json.dumps(nodes)}\nEND")

    def says(self, script: str) -> None:
        for name in ("ray", "python"):
            (self.folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (self.folder / name).chmod(0o755)

    def env(self, **more: str) -> dict[str, str]:
        return {"PATH": f"{self.folder}:{os.environ['PATH']}", "RAY_ADDRESS": "10.77.0.1:6379", **more}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr("nccltool.launch.launchers.ray.importlib.util.find_spec", lambda name: None)
    return Cluster(tmp_path / "ray")


def test_one_command_reaches_all_nodes_in_their_order(cluster: Cluster) -> None:
    cluster.has(TWO)
    job = '{"metadata": {"job_submission_id": "raysubmit_7"}}'
    where = chosen(env=cluster.env(RAY_JOB_CONFIG_JSON_ENV_VAR=job, NCCL_DEBUG="WARN"))
    assert (where.launch.launcher, where.launch.why) == ("ray", "job raysubmit_7: 2 hosts")
    assert (where.nodes, where.targets, where.node_variable) == (2, ("n1", "n2"), ray_driver.NODE_VARIABLE)
    (command,) = where.launch.commands
    assert command.nodes == (0, 1)
    assert command.argv[0] == str(cluster.folder / "python")
    assert command.argv[3:5] == ("--address", "10.77.0.1:6379")
    assert [word.split(":")[1:] for word in command.argv[-2:]] == [["0", "n1"], ["0", "n2"]]
    assert where.env == {"NCCL_DEBUG": "WARN"}


@pytest.mark.parametrize(
    ("words", "gpus"),
    [((), "8"), (("--nproc-per-node", "2"), "2"), (("--nproc-per-node", "16"), "8"), (("--backend", "gloo"), "0")],
)
def test_gpus_that_ray_is_asked_for(cluster: Cluster, words: tuple[str, ...], gpus: str) -> None:
    cluster.has([node(1, CPU=4.0), node(2, CPU=64.0, GPU=8.0), node(3, CPU=64.0, GPU=8.0)])
    where = chosen(*words, env=cluster.env())
    assert where.targets == ("n2", "n3")  # the head has none
    assert {word.split(":")[1] for word in where.launch.commands[0].argv[-2:]} == {gpus}


@pytest.mark.parametrize(
    ("nodes", "hosts"),
    [
        ([node(10, CPU=1.0), node(9, CPU=1.0), node(1, alive=False, CPU=1.0)], ("n9", "n10")),
        ([node(1, CPU=0.0), node(2, CPU=1.0), node(3, CPU=1.0)], ("n2", "n3")),
        ([node(1), node(2)], ("n1", "n2")),
        ([node(1, host="pod", CPU=1.0), node(2, host="pod", CPU=1.0)], ("10.77.0.1", "10.77.0.2")),
    ],
    ids=["dead", "no processor on the head", "no processors at all", "equal names"],
)
def test_nodes_of_a_cluster(cluster: Cluster, nodes: list[dict[str, object]], hosts: tuple[str, ...]) -> None:
    cluster.has(nodes)
    assert chosen(env=cluster.env()).targets == hosts


@pytest.mark.parametrize(
    ("words", "env", "launcher"),
    [
        ((), {"RAY_ADDRESS": ""}, "local"),
        ((), {"RAY_ADDRESS": "http://head:8265"}, "local"),
        (("--launcher", "local"), {}, "local"),
        (("--launcher", "ray"), {"RAY_ADDRESS": ""}, "ray"),
        (("--launcher", "ray", "--hosts", "n2"), {}, "ray"),
    ],
)
def test_when_it_is_chosen(
    cluster: Cluster, words: tuple[str, ...], env: Mapping[str, str], launcher: str
) -> None:
    cluster.has(TWO)
    assert chosen(*words, env=cluster.env(**env)).launch.launcher == launcher


@pytest.mark.parametrize(
    ("script", "words", "message"),
    [
        ("echo '[]'", (), "ray.nodes() names no host"),
        ("echo '{}'", (), "ray.nodes() is not understood"),
        ("echo '[{\"Alive\": true}]'", (), "ray.nodes() is not understood"),
        ("echo ConnectionError: no cluster >&2; exit 1", (), "Ray does not answer: ConnectionError: no cluster"),
        (f"echo '{json.dumps(TWO)}'", ("--nodes", "3"), "--nodes 3, but Ray job 10.77.0.1:6379 has 2"),
        (
            f"echo '{json.dumps(TWO)}'",
            ("--launcher", "ray", "--hosts", "x"),
            "--hosts: x is not a host of Ray job",
        ),
        (f"echo '{json.dumps([node(1, host='$(x)')])}'", ("--launcher", "ray"), "'$(x)' is not a host"),
    ],
)
def test_a_cluster_that_cannot_be_used(
    cluster: Cluster, script: str, words: tuple[str, ...], message: str
) -> None:
    cluster.says(script)
    with pytest.raises(BadInput) as error:
        chosen(*words, env=cluster.env())
    assert message in error.value.message
    assert error.value.remedy


def test_no_ray(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        chosen(env={"PATH": str(tmp_path), "RAY_ADDRESS": "auto"})
    assert error.value.message.startswith("Ray was not found")


@pytest.mark.parametrize(
    ("reason", "kind", "message"),
    [
        ("FileNotFoundError: [Errno 2] No such file or directory: '/x'", "host-misconfigured", "no such Python"),
        (
            "Ray started no process there within 90 s",
            "host-misconfigured",
            "cannot be used: Ray started no process",
        ),
        (
            "its process ended with exit code 1\nNo module named 'nccltool'",
            "host-misconfigured",
            "lacks a package",
        ),
        ("The actor died because its node has died.", "host-lost", "n2 was lost: The actor died because its node"),
    ],
)
def test_why_a_node_ended(reason: str, kind: str, message: str) -> None:
    lines = f"{ray_driver.COMPLAINT}: n2: {reason}".splitlines()
    found = ray.explain("", 1, lines)
    assert found is not None
    assert (found.kind.code, found.subject and found.subject.name) == (kind, "n2")
    assert message in found.message
    assert ray.end_word(lines[0]) is EndWord.REASON


def test_what_the_driver_does_not_say_explains_nothing() -> None:
    assert ray.explain("", 1, ["a line of Ray"]) is None
    assert ray.end_word("a line of Ray") is None
