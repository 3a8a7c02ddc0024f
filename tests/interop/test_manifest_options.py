"""Options of a manifest: what they become in it, and what they cannot be."""

import pytest

from tests.cli.commands.test_manifest import IMAGE, container, documents
from tests.conftest import Nccltool
from tests.interop.manifests.test_contract import pods


@pytest.mark.parametrize(
    ("words", "resources"),
    [
        ("probe", None),
        ("--gpus 8 probe", {"nvidia.com/gpu": "8"}),
        ("--gpus 1 --rdma-resource rdma/hca_a=2 probe", {"nvidia.com/gpu": "1", "rdma/hca_a": "2"}),
        ("--resource cpu=500m --resource memory=1.5Gi probe", {"cpu": "500m", "memory": "1.5Gi"}),
    ],
)
def test_resources(words: str, resources: dict[str, str] | None, nccltool: Nccltool) -> None:
    wanted = None if resources is None else {"requests": resources, "limits": resources}
    assert container(nccltool, *words.split()).get("resources") == wanted


def test_every_variable_of_a_pod_is_there_once(nccltool: Nccltool) -> None:
    env = container(nccltool, "--env", "HOME=/home/me", "--env", "A=1", "--env", "A=2", "probe")["env"]
    names = [one["name"] for one in env]
    assert len(set(names)) == len(names)
    assert {"name": "HOME", "value": "/home/me"} in env


@pytest.mark.parametrize(
    ("size", "limit"), [("8GiB", "8Gi"), ("512M", "512Mi"), ("1.5GiB", "1610612736"), ("7", "7")]
)
def test_shared_memory(size: str, limit: str, nccltool: Nccltool) -> None:
    (spec,) = pods(documents(nccltool, "--shm-size", size, "probe"))
    assert spec["volumes"][0]["emptyDir"]["sizeLimit"] == limit


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("probe", 4500), ("probe --deadline 60.5", 961), ("--pull-time 0 probe --deadline 60", 60)],
)
def test_the_time_of_the_whole_job(words: str, seconds: int, nccltool: Nccltool) -> None:
    assert documents(nccltool, *words.split())[-1]["spec"]["activeDeadlineSeconds"] == seconds


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--name Upper probe", "--name 'Upper' cannot be used"),
        (f"--name {'a' * 41} probe", "cannot be used"),
        ("--namespace a.b probe", "--namespace 'a.b' cannot be used"),
        ("--rdma-resource rdma/hca probe", "--rdma-resource 'rdma/hca' cannot be used"),
        ("--rdma-resource rdma/hca=0 probe", "--rdma-resource 'rdma/hca=0' cannot be used"),
        ("--resource cpu=many probe", "--resource 'cpu=many' cannot be used"),
        ("--shm-size big probe", "--shm-size: 'big' is not a size"),
        ("--shm-size 0 probe", "--shm-size: NCCL and torch need shared memory"),
        ("--toleration a=b:Never probe", "--toleration 'a=b:Never' cannot be used"),
        ("--toleration a: probe", "--toleration 'a:' cannot be used"),
        ("--node-selector zone probe", "--node-selector 'zone' cannot be used"),
        ("--annotation x probe", "--annotation 'x' cannot be used"),
        ("--env 1A=2 probe", "--env '1A=2' cannot be used"),
        ("--label team probe", "--label 'team' cannot be used"),
        ("--label team=a/b probe", "--label 'team=a/b' cannot be used"),
        ("--label team=a --label team=b probe", "--label team=b contradicts team=a"),
        (
            "--label app.kubernetes.io/instance=x probe",
            "--label app.kubernetes.io/instance is set by nccltool itself",
        ),
        ("--label kueue.x-k8s.io/queue-name=x probe", "use --queue"),
        ("--node-selector zone=a --node-selector zone=b probe", "--node-selector zone=b contradicts zone=a"),
        ("--queue A probe", "--queue 'A' cannot be used"),
        ("--priority-class a_b probe", "--priority-class 'a_b' cannot be used"),
        ("--runtime-class a_b probe", "--runtime-class 'a_b' cannot be used"),
        ("--resource-claim a_b probe", "--resource-claim 'a_b' cannot be used"),
        ("--compute-domain probe", "--compute-domain connects GPUs, but the pods have none"),
        ("--host-path /opt/lib probe", "--host-path '/opt/lib' cannot be used"),
        ("--host-path lib:/opt/lib probe", "--host-path 'lib:/opt/lib' cannot be used"),
        ("--host-path /opt/../lib:/lib probe", "--host-path '/opt/../lib:/lib' cannot be used"),
        ("--host-path /opt/lib:/lib:rw probe", "--host-path '/opt/lib:/lib:rw' cannot be used"),
        ("--host-path /opt/lib:/tmp/ probe", "--host-path '/opt/lib:/tmp/' would hide /tmp/ of the container"),
        ("--host-path /opt:/ probe", "would hide / of the container"),
        (
            "--host-path /a:/c --host-path /b:/c/ probe",
            "--host-path: /a and /b cannot both be /c in the container",
        ),
        ("--env NCCLTOOL_NODE_RANK=2 probe", "--env NCCLTOOL_NODE_RANK has no meaning in a manifest"),
        (
            "--gpus 4 probe --backend nccl --nproc-per-node 8",
            "--backend nccl needs one GPU per rank, but a host has 4 GPUs for 8 ranks",
        ),
        (
            "--gpus 2 probe --nproc-per-node 4",
            "--gpus 2 is not enough for --nproc-per-node 4: NCCL needs one GPU per rank",
        ),
        ("--env NCCLTOOL_HOSTS=n1 probe", "--env NCCLTOOL_HOSTS has no meaning in a manifest"),
    ],
)
def test_words_that_cannot_be_used(words: str, message: str, nccltool: Nccltool) -> None:
    said = nccltool(*IMAGE, *words.split())
    assert (said.code, said.out) == (2, "")
    assert message in said.err
