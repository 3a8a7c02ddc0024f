"""nccltool manifest: its words, and that the pods' words mean what was asked for."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from nccltool.cli.commands import probe
from nccltool.cli.root import cli
from nccltool.interop.manifests import KINDS
from nccltool.probe import options
from tests.conftest import Nccltool
from tests.docs.pages import ROOT, hold
from tests.interop.manifests.test_contract import pods
from tests.support.options import parsed

IMAGE = ("manifest", "--image", "registry.example/nccltool:1")


def documents(nccltool: Nccltool, *words: str, **env: str) -> list[dict[str, Any]]:
    said = nccltool(*IMAGE, *words, **env)
    assert (said.code, said.err) == (0, "")
    return list(yaml.safe_load_all(said.out))


def container(nccltool: Nccltool, *words: str, **env: str) -> dict[str, Any]:
    spec = next(pods(documents(nccltool, *words, **env)))
    first: dict[str, Any] = spec["containers"][0]
    return first


@pytest.mark.parametrize(
    ("words", "args"),
    [
        ("probe --nodes 2", "probe --nodes 2 --events --join-timeout 600"),
        ("probe --nodes 2 --join-timeout 60", "probe --nodes 2 --join-timeout 60 --events"),
        ("probe --nodes 2 --events", "probe --nodes 2 --events --join-timeout 600"),
        ("probe", "probe --events --join-timeout 600"),
        ("--gpus 8 probe --nodes 2 --cuda-graph", "probe --nodes 2 --cuda-graph --events --join-timeout 600"),
        ("--gpus 8 probe -d fp9 --op send_recv", None),
        ("--gpus 8 probe -d half -o avg", "probe -d half -o avg --events --join-timeout 600"),
    ],
)
def test_the_command_of_the_pods(words: str, args: str | None, nccltool: Nccltool) -> None:
    if args is None:
        assert nccltool(*IMAGE, *words.split()).code == 2
        return
    assert container(nccltool, *words.split())["args"] == args.split()


def test_variables_that_are_set_here_are_not_those_of_the_pods(nccltool: Nccltool) -> None:
    (*_, job) = documents(nccltool, "probe", NCCLTOOL_NODES="4", NCCLTOOL_DEADLINE="10", RANK="0", WORLD_SIZE="2")
    assert (job["spec"]["completions"], job["spec"]["activeDeadlineSeconds"]) == (1, 4500)


def test_variables_of_the_command_itself_count(nccltool: Nccltool) -> None:
    (*_, job) = documents(
        nccltool, "probe", NCCLTOOL_NAME="fabric", NCCLTOOL_TOLERATION="gpu dedicated=ml:NoExecute"
    )
    assert job["metadata"]["name"] == "fabric"
    assert job["spec"]["template"]["spec"]["tolerations"] == [
        {"key": "gpu", "operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoExecute"},
    ]


def _environments(kind: str, objects: list[dict[str, Any]], nodes: int) -> Iterator[dict[str, str]]:
    """What is in the environment of each pod: from the manifest, and as Kubernetes or the operator set it."""
    own = next(pods(objects))["containers"][0]["env"]
    plain = {one["name"]: one["value"] for one in own if "value" in one}
    for number in range(nodes):
        index = {one["name"]: str(number) for one in own if "valueFrom" in one}
        operator = {
            "job": {"JOB_COMPLETION_INDEX": str(number)},
            "jobset": {"JOB_COMPLETION_INDEX": str(number)},
            "vcjob": {
                "VC_NODE_NUM": str(nodes),
                "VC_NODE_HOSTS": ",".join(f"nccltool-probe-node-{one}.nccltool-probe" for one in range(nodes)),
            },
            "trainjob": {
                "PET_NNODES": str(nodes),
                "PET_NODE_RANK": str(number),
                "PET_NPROC_PER_NODE": "1",
                "PET_MASTER_ADDR": "nccltool-probe-node-0-0.nccltool-probe",
                "PET_MASTER_PORT": "29500",
            },
            "pytorchjob": {
                "MASTER_ADDR": "nccltool-probe-master-0",
                "MASTER_PORT": "29500",
                "PET_MASTER_ADDR": "nccltool-probe-master-0",
                "PET_MASTER_PORT": "29500",
                "PET_NNODES": str(nodes),
                "PET_NODE_RANK": str(number),
                "PET_NPROC_PER_NODE": "auto",
                "RANK": str(number),
                "WORLD_SIZE": str(nodes),
            },
        }
        yield plain | index | operator[kind]


@pytest.mark.parametrize(
    ("kind", "endpoint"),
    [
        ("job", "nccltool-probe-0.nccltool-probe:29500"),
        ("jobset", "nccltool-probe-node-0-0.nccltool-probe:29500"),
        ("vcjob", "nccltool-probe-node-0.nccltool-probe:29500"),
        ("trainjob", "nccltool-probe-node-0-0.nccltool-probe:29500"),
        ("pytorchjob", "nccltool-probe-master-0:29500"),
    ],
)
def test_every_pod_is_a_node_and_meets_the_others(
    kind: str, endpoint: str, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    objects = documents(nccltool, "--kind", kind, "probe", "--nodes", "3", "--op", "broadcast")
    (content,) = objects[0]["stringData"].values()
    mounted = tmp_path / "secret"
    mounted.touch(mode=0o600)
    mounted.write_text(content)
    args = next(pods(objects))["containers"][0]["args"]
    for number, env in enumerate(_environments(kind, objects, 3)):
        for name, value in env.items():
            monkeypatch.setenv(name, str(mounted) if name == "NCCLTOOL_RDZV_SECRET_FILE" else value)
        order = options.from_options(probe.asked(parsed("probe", *args[1:])), env)
        job = order.job
        assert (job.nodes, job.node_ranks, job.nproc_per_node, job.endpoint) == (3, (number,), 1, endpoint)
        assert job.secret == content.encode().hex()
        assert (job.ops, job.join_timeout_s, order.leads) == (("broadcast",), 600.0, number == 0)


@pytest.mark.parametrize("kind", ["MPIJob", "mpijob", "PyTorchJob", "JobSet"])
def test_a_kind_as_objects_write_it(kind: str, nccltool: Nccltool) -> None:
    assert documents(nccltool, "--kind", kind, "probe")[-1]["kind"].lower() == kind.lower()


def test_each_manifest_has_a_secret_of_its_own(nccltool: Nccltool) -> None:
    made = [documents(nccltool, "probe", "--nodes", "2")[0] for _ in range(2)]
    assert [one["kind"] for one in made] == ["Secret", "Secret"]
    first, second = (one["stringData"]["secret"] for one in made)
    assert first != second
    assert len(bytes.fromhex(first)) == len(bytes.fromhex(second)) == 32


def test_every_kind_is_tried() -> None:
    """Above, but for mpijob: tests/lab/test_mpijob.py."""
    assert KINDS == ("job", "jobset", "trainjob", "pytorchjob", "mpijob", "vcjob", "init-container")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "missing the command for the pods: probe\n  -> nccltool manifest --image IMAGE probe\n"),
        ("runs", "manifest cannot run 'runs'\n  -> nccltool manifest --image IMAGE probe\n"),
        ("prob", "manifest cannot run 'prob'\n  -> did you mean probe? nccltool manifest --image IMAGE probe\n"),
        ("job", "'job' is a kind, not a command\n  -> nccltool manifest --image IMAGE --kind job probe\n"),
        ("--kind volcano probe", "--kind volcano: Volcano calls its jobs vcjob\n  -> use --kind vcjob"),
        ("--kind vcjobs probe", "--kind vcjobs: expected one of job, jobset"),
        ("--kind init-container", "missing the command for the pods: preflight"),
        ("probe --gpus 8", "--gpus must stand before probe\n  -> nccltool manifest --gpus ... probe ..."),
        ("probe --nothing", "unknown option '--nothing'\n  -> nccltool probe --help lists them"),
        ("--nodes 2 probe", "--nodes is an option of probe\n  -> write it after probe: nccltool manifest"),
        ("--nothing probe", "unknown option '--nothing'\n  -> nccltool manifest --help lists them"),
        ("probe --op bogus", "--op: unknown operation 'bogus'"),
        ("probe --bogus", "unknown option"),
        ("probe --nodes 0", "--nodes 0: expected"),
        ("probe stray", "unexpected argument"),
        ("probe --node-rank 1", "--node-rank has no meaning in a manifest"),
        ("probe --output run.json", "--output has no meaning in a manifest: the file ends with its pod"),
        ("probe --plot run.svg", "--plot has no meaning in a manifest: the file ends with its pod"),
        ("--gpus 4 --resource nvidia.com/gpu=2 probe", "--resource nvidia.com/gpu=2 is what --gpus asks for"),
        ("--resource cpu=8 --resource cpu=4 probe", "--resource cpu=4 contradicts cpu=8"),
        ("probe --rdzv-endpoint a:1", "--rdzv-endpoint has no meaning in a manifest"),
        ("probe --cuda-graph", "--cuda-graph needs NCCL and a GPU on every rank"),
    ],
)
def test_words_that_cannot_be_used(words: str, message: str, nccltool: Nccltool) -> None:
    said = nccltool(*IMAGE, *words.split())
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_an_image_is_needed(nccltool: Nccltool) -> None:
    said = nccltool("manifest", "probe")
    assert (said.code, said.out) == (2, "")
    assert (
        "missing --image, the container image with nccltool\n  -> nccltool manifest --image IMAGE probe"
        in said.err
    )
    said = nccltool("manifest", "probe", "--image", "x")
    assert (said.code, said.out) == (2, "")
    assert "--image must stand before probe\n" in said.err


def test_help_of_the_command_in_the_pods(nccltool: Nccltool) -> None:
    said = nccltool(*IMAGE, "probe", "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Usage: nccltool manifest probe [OPTIONS]\n")


def test_the_page_shows_what_is_printed(nccltool: Nccltool) -> None:
    words = (*IMAGE, "--gpus", "8", "probe", "--nodes", "2")
    said = nccltool(*words)
    page = ROOT / "docs/commands/manifest.md"
    shown = re.sub(r'"?\b[0-9a-f]{64}\b"?', f'"{"0123456789abcdef" * 4}"', said.out)  # it is random
    hold(page, f"```console\n$ nccltool {' '.join(words)}\n", "```\n", shown)


def test_an_init_container(nccltool: Nccltool) -> None:
    words = ("--kind", "init-container", "--gpus", "8", "preflight", "--suite", "smoke", "--budget", "60s")
    (patch,) = documents(nccltool, *words)
    (made,) = patch["spec"]["template"]["spec"]["initContainers"]
    assert made["name"] == "nccltool-preflight"
    assert made["args"] == [
        "preflight",
        "--suite",
        "smoke",
        "--budget",
        "60s",
        "--launcher",
        "local",
        "--nodes",
        "1",
    ]
    assert made["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    above = click.Context(cli, **cli.context_settings)
    read = cli.commands["preflight"].make_context("preflight", made["args"][1:], parent=above).params
    assert (read["nodes"], read["launcher"], read["suite"]) == (1, "local", "smoke")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--kind init-container probe", "--kind init-container runs preflight, not probe"),
        ("preflight", "--kind job runs probe, not preflight"),
        ("--kind init-container preflight --hosts a,b", "--hosts has no meaning in a manifest"),
        ("--kind init-container preflight --output x.json", "--output has no meaning in a manifest"),
        ("--kind init-container preflight --nodes 2", "--nodes has no meaning in a manifest"),
        ("--kind init-container --host-network preflight", "--host-network has no meaning for an init container"),
        ("--kind init-container --queue a preflight", "--queue has no meaning for an init container"),
        (
            "--kind init-container --compute-domain preflight",
            "--compute-domain has no meaning for an init container",
        ),
        ("--kind init-container --namespace ml preflight", "--namespace has no meaning for an init container"),
    ],
)
def test_what_an_init_container_cannot_be(words: str, said: str, nccltool: Nccltool) -> None:
    done = nccltool(*IMAGE, *words.split())
    assert (done.code, done.out) == (2, "")
    assert said in done.err
