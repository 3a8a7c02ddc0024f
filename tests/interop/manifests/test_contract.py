"""Every kind of manifest against the schemas of the API servers, and what all of them must be."""

import copy
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nccltool.interop import manifests
from nccltool.interop.manifests import KINDS, PATCHES
from nccltool.interop.manifests.base import QUEUE_LABEL, HostPath, Object, Request
from tests.interop.manifests import schemas

PLAIN = Request(
    words=("probe", "--nodes", "2", "--events"),
    nodes=2,
    nproc_per_node=None,
    name="nccltool-probe",
    image="registry.example/nccltool:1",
    active_deadline_s=4500,
)
FULL = replace(
    PLAIN,
    words=("probe", "--nodes", "4", "--op", "all_reduce", "--min-busbw", "1e2", "--events"),
    nodes=4,
    nproc_per_node=8,
    name="fabric",
    namespace="ml",
    gpus=8,
    resources={"rdma/hca": "8", "cpu": "32", "memory": "256Gi"},
    shm_size="64Gi",
    ipc_lock=True,
    host_network=True,
    service_account="prober",
    image_pull_secret="registry",
    node_selector={"node.kubernetes.io/instance-type": "p5.48xlarge"},
    tolerations=({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},),
    annotations={"k8s.v1.cni.cncf.io/networks": "rail0,rail1"},
    more_labels={"team": "ml"},
    queue="gpus",
    priority_class="high",
    runtime_class="nvidia",
    host_paths=(
        HostPath("/opt/tcpxo/lib64", "/usr/local/nvidia/lib64", True),
        HostPath("/dev/aperture", "/dev/aperture"),
    ),
    env={"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "=mlx5_0"},
    port=29600,
)
CLAIMS = replace(FULL, compute_domain=True, claim_templates=("rdma-nic", "rdma.example"))
"""Kubernetes 1.31 changed how a pod names its claims; nothing older is meant to take these."""
ONE = replace(PLAIN, words=("probe", "--nodes", "1", "--events"), nodes=1, user=0, allow_same_host=True)
REQUESTS = {"plain": PLAIN, "full": FULL, "one node": ONE}

SSHD_OF_ROOT = {"SETGID", "SETUID", "SYS_CHROOT"}
"""Rights that an sshd of root gives up for those who log in."""
LAUNCHER = "launcher"
"""The container that runs mpirun, of an MPIJob."""

each_request = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
each_kind = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in PATCHES])


def pods(value: Any) -> Iterator[dict[str, Any]]:
    """Every pod's spec, wherever it stands in an object."""
    if isinstance(value, dict):
        if "containers" in value:
            yield value
        for inner in value.values():
            yield from pods(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from pods(inner)


def is_launcher(spec: dict[str, Any]) -> bool:
    """Whether a pod runs mpirun; the others are nodes."""
    name: str = spec["containers"][0]["name"]
    return name == LAUNCHER


@each_kind
@each_request
def test_every_object_is_valid_for_every_release(kind: str, request_: Request) -> None:
    for document in manifests.objects(request_, kind):
        found = {file: schemas.problems(document, file) for file in schemas.FILES}
        judged = {file: wrong for file, wrong in found.items() if wrong is not None}
        assert judged
        assert set(map(str, judged.values())) == {"[]"}, judged


@each_kind
def test_objects_with_claims_are_valid_where_claims_are(kind: str) -> None:
    (_, domain, *others) = manifests.objects(CLAIMS, kind)
    assert (domain["kind"], domain["spec"]["numNodes"]) == ("ComputeDomain", 4)
    assert schemas.problems(domain, "dra-driver-25.12.0-computedomain.json") == []
    files = ("kubernetes-1.36.json", "jobset-0.12", "trainer-2.3", "training-operator", "mpi-operator", "volcano")
    newest = [file for file in schemas.FILES if file.startswith(files)]
    for document in others:
        judged = [wrong for file in newest if (wrong := schemas.problems(document, file)) is not None]
        assert judged == [[]], judged
    nodes = {json.dumps(spec) for spec in pods(others) if not is_launcher(spec)}
    (spec,) = (json.loads(one) for one in nodes)
    claims = {one["name"]: one["resourceClaimTemplateName"] for one in spec["resourceClaims"]}
    template = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    assert claims == {"claim-0": "rdma-nic", "claim-1": "rdma.example", "imex-channel": template}
    assert [one["name"] for one in spec["containers"][0]["resources"]["claims"]] == list(claims)


@each_kind
def test_a_queue_is_that_of_kueue_or_volcano(kind: str) -> None:
    *others, job = manifests.objects(FULL, kind)
    assert QUEUE_LABEL not in json.dumps(others)
    if kind == "vcjob":
        assert (job["spec"]["queue"], job["spec"]["priorityClassName"]) == ("gpus", "high")
    else:
        assert job["metadata"]["labels"][QUEUE_LABEL] == "gpus"
    for spec in pods(job):
        assert QUEUE_LABEL not in json.dumps(spec)
    assert "suspend" not in job["spec"]  # Kueue does that itself; without Kueue nobody would resume it


@each_kind
def test_what_the_pods_get_from_their_host(kind: str) -> None:
    for spec in pods(manifests.objects(FULL, kind)):
        assert (spec["priorityClassName"], spec["runtimeClassName"]) == ("high", "nvidia")
        paths = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"] if "hostPath" in one}
        mounts = {one["name"]: one for one in spec["containers"][0]["volumeMounts"] if one["name"] in paths}
        assert [(paths[name], one["mountPath"], one.get("readOnly")) for name, one in mounts.items()] == [
            ("/opt/tcpxo/lib64", "/usr/local/nvidia/lib64", True),
            ("/dev/aperture", "/dev/aperture", None),
        ]


@each_kind
def test_labels_are_on_objects_and_pods(kind: str) -> None:
    documents = manifests.objects(FULL, kind)
    assert {one["metadata"]["labels"]["team"] for one in documents} == {"ml"}
    templates = json.dumps(documents[-2:]).count('"team": "ml"')
    assert templates > len(documents[-2:])


def test_the_job_of_volcano_is_not_judged_as_one_of_kubernetes() -> None:
    (*_, job) = manifests.objects(FULL, "vcjob")
    assert [file for file in schemas.FILES if schemas.problems(job, file) is not None] == [
        "volcano-1.15.1-job.json"
    ]


@pytest.mark.parametrize(
    ("kind", "path", "value", "problem"),
    [
        ("jobset", ("spec", "replicatedJobs", 0, "template", "spec", "nodes"), 2, "'nodes' was unexpected"),
        ("jobset", ("spec", "network", "publish"), True, "'publish' was unexpected"),
        ("vcjob", ("spec", "tasks", 0, "template", "spec", "gpus"), 1, "'gpus' was unexpected"),
        ("vcjob", ("spec", "minAvailable"), "all", "'all' is not of type 'integer'"),
        ("job", ("spec", "completions"), "two", "$.spec.completions: 'two' is not of type 'integer', 'null'"),
        ("job", ("spec", "template", "spec", "containers", 0, "args", 1), 2, "args[1]: 2 is not of type 'string'"),
        ("job", ("spec", "nodes"), 2, "'nodes' was unexpected"),
        (
            "trainjob",
            ("spec", "trainer", "numNodes"),
            "2",
            "$.spec.trainer.numNodes: '2' is not of type 'integer'",
        ),
        ("trainjob", ("spec", "podSpec"), {}, "'podSpec' was unexpected"),
        ("pytorchjob", ("spec", "nprocPerNode"), 8, "$.spec.nprocPerNode: 8 is not of type 'string'"),
        ("mpijob", ("spec", "slotsPerWorker"), "8", "$.spec.slotsPerWorker: '8' is not of type 'integer'"),
        ("mpijob", ("spec", "mpiImplementation"), "MPI", "'MPI' is not one of ['OpenMPI', 'Intel', 'MPICH']"),
        ("mpijob", ("spec", "runPolicy", "maxRestarts"), 0, "'maxRestarts' was unexpected"),
        (
            "pytorchjob",
            ("spec", "pytorchReplicaSpecs", "Master", "template", "spec", "gpus"),
            1,
            "'gpus' was unex",
        ),
    ],
)
def test_the_schemas_find_what_is_wrong(kind: str, path: tuple[Any, ...], value: object, problem: str) -> None:
    document = copy.deepcopy(manifests.objects(FULL, kind)[-1])
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    for file in schemas.FILES:
        found = schemas.problems(document, file)
        assert found is None or problem in " ".join(found), (file, found)


@each_kind
@each_request
def test_what_every_pod_is(kind: str, request_: Request) -> None:
    specs = list(pods(manifests.objects(request_, kind)))
    assert specs
    for spec in specs:
        (container,) = spec["containers"]
        # the MPI operator wants it beside the template
        assert spec.get("restartPolicy") == (None if kind == "mpijob" else "Never")
        assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
        security = container["securityContext"]
        assert (security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"]) == (False, True)
        assert security["capabilities"]["drop"] == ["ALL"]
        added = set(security["capabilities"].get("add", [])) - {*SSHD_OF_ROOT}
        assert added == ({"IPC_LOCK"} if request_.ipc_lock else set())
        memory = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": request_.shm_size}}
        assert memory in spec["volumes"]
        assert {"name": "shm", "mountPath": "/dev/shm"} in container["volumeMounts"]
        if kind != "mpijob":  # tests/interop/manifests/test_mpijob.py
            assert (container["command"], container["args"]) == (["nccltool"], list(request_.words))
            assert not SSHD_OF_ROOT & set(security["capabilities"].get("add", []))


@each_kind
@pytest.mark.parametrize(
    ("changes", "who"),
    [
        ({}, {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000}),
        ({"user": 65534}, {"runAsNonRoot": True, "runAsUser": 65534, "runAsGroup": 65534}),
        ({"user": 0}, {"runAsUser": 0}),
        ({"ipc_lock": True}, {"runAsUser": 0}),
    ],
)
def test_root_only_where_it_must_be(kind: str, changes: dict[str, Any], who: Object) -> None:
    for spec in pods(manifests.objects(replace(PLAIN, **changes), kind)):
        assert spec["securityContext"] == {**who, "seccompProfile": {"type": "RuntimeDefault"}}


@each_kind
@each_request
def test_the_secret_of_the_run_is_mounted_and_nowhere_else(kind: str, request_: Request) -> None:
    secret, *others = manifests.objects(replace(request_, run_secret="5ec2e7"), kind)
    assert secret["metadata"].get("namespace") == request_.namespace
    assert "5ec2e7" not in json.dumps(others)
    for spec in pods(others):
        (volume,) = (one for one in spec["volumes"] if one["name"] == "run-secret")
        assert volume["secret"] == {"secretName": secret["metadata"]["name"]}
        (container,) = spec["containers"]
        (mount,) = (one for one in container["volumeMounts"] if one["name"] == "run-secret")
        (file,) = (one["value"] for one in container["env"] if one["name"] == "NCCLTOOL_RDZV_SECRET_FILE")
        assert (mount["readOnly"], secret["stringData"]) == (
            True,
            {file.removeprefix(f"{mount['mountPath']}/"): "5ec2e7"},
        )


@each_kind
@pytest.mark.parametrize("allowed", [True, False])
def test_pods_are_on_different_hosts(kind: str, allowed: bool) -> None:
    for spec in pods(manifests.objects(replace(PLAIN, allow_same_host=allowed), kind)):
        assert ("affinity" in spec) is not (allowed or is_launcher(spec))
        if "affinity" in spec:
            (rule,) = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            own = {"training.kubeflow.org/job-role": "worker"} if kind == "mpijob" else {}
            assert rule["labelSelector"]["matchLabels"] == PLAIN.selector | own
            assert rule["topologyKey"] == "kubernetes.io/hostname"


@each_kind
@each_request
def test_the_text_is_the_objects(kind: str, request_: Request) -> None:
    text = manifests.render(request_, kind)
    assert tuple(yaml.safe_load_all(text)) == manifests.objects(request_, kind)
    head = text.partition("---")[0].splitlines()
    assert [line for line in text.splitlines() if line.startswith("#")] == head
    assert len(head) == (4 if kind == "mpijob" else 3)
    assert "&" not in text.partition("---")[2].replace("&&", ""), "no references between parts"


WORDS = (
    "1e3",
    "1E3",
    "0x10",
    "0o17",
    "010",
    "1_000",
    "yes",
    "On",
    "n",
    "~",
    "null",
    "1:30",
    ".5",
    "-",
    "",
    "=",
    "#a",
)


@pytest.mark.parametrize("word", WORDS)
def test_text_that_readers_of_yaml_take_for_something_else_is_quoted(word: str) -> None:
    text = manifests.render(replace(PLAIN, words=("probe", "--op", word)), "job")
    assert f'- "{word}"\n' in text


@given(st.lists(st.text(max_size=20), max_size=3))
def test_any_word_comes_through(words: list[str]) -> None:
    (_, document) = yaml.safe_load_all(manifests.render(replace(PLAIN, words=tuple(words)), "pytorchjob"))
    for spec in pods(document):
        assert [word.replace("$$(", "$(") for word in spec["containers"][0]["args"]] == [
            word.replace("$$(", "$(") for word in words
        ]


def test_kubernetes_does_not_expand_words() -> None:
    (spec,) = pods(manifests.objects(replace(PLAIN, words=("probe", "$(HOME)")), "job"))
    assert spec["containers"][0]["args"] == ["probe", "$$(HOME)"]


def merged(job: Object, patch: Object) -> Object:
    """As kubectl does it: mappings are merged; of lists of what has names, all names stay."""
    made = dict(job)
    for key, value in patch.items():
        if isinstance(value, dict):
            made[key] = merged(made.get(key, {}), value)
        else:
            names = {one["name"] for one in value}
            made[key] = [*value, *(one for one in made.get(key, []) if one["name"] not in names)]
    return made


def a_job() -> Object:
    (*_, job) = manifests.objects(replace(PLAIN, name="training"), "job")
    return copy.deepcopy(job)


CHECK = replace(PLAIN, words=("preflight", "--launcher", "local", "--nodes", "1"), name="nccltool-preflight")
each_check = pytest.mark.parametrize(
    "check",
    [CHECK, replace(CHECK, gpus=8, resources={"rdma/hca": "8"}, ipc_lock=True, env={"NCCL_DEBUG": "INFO"})],
)


@each_check
def test_a_job_with_an_init_container_is_valid(check: Request) -> None:
    patched = merged(a_job(), manifests.objects(check, "init-container")[0])
    assert [schemas.problems(patched, file) for file in schemas.FILES if "kubernetes" in file] == [[], []]
    before, after = (job["spec"]["template"]["spec"] for job in (a_job(), patched))
    assert after["containers"] == before["containers"]
    assert {one["name"] for one in after["volumes"]} == {
        *("shm", "scratch", "run-secret", "nccltool-shm", "nccltool-scratch")
    }
    (container,) = after["initContainers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {"nccltool-shm", "nccltool-scratch"}
    assert (container["command"], container["args"]) == (["nccltool"], list(check.words))
    rights = container["securityContext"]
    assert (rights["runAsUser"], rights["capabilities"]["drop"]) == (0 if check.ipc_lock else 1000, ["ALL"])
    assert (rights["readOnlyRootFilesystem"], rights["seccompProfile"]) == (True, {"type": "RuntimeDefault"})


def test_the_text_of_a_patch_is_the_patch() -> None:
    text = manifests.render(CHECK, "init-container")
    assert yaml.safe_load(text) == manifests.objects(CHECK, "init-container")[0]
    assert text.startswith("# kubectl patch --local -f JOB.yaml ")


@each_check
def test_kubectl_merges_as_we_do(check: Request, tmp_path: Path) -> None:
    """Of a patch as users apply it; no cluster is asked."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("needs kubectl")
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(a_job()))
    (tmp_path / "patch.yaml").write_text(manifests.render(check, "init-container"))
    argv = (kubectl, "patch", "--local", "-f", "job.yaml", "--type", "strategic", "--patch-file", "patch.yaml")
    done = subprocess.run([*argv, "-o", "json"], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    patched = json.loads(done.stdout)["spec"]["template"]["spec"]
    ours = merged(a_job(), manifests.objects(check, "init-container")[0])["spec"]["template"]["spec"]
    assert sorted(one["name"] for one in patched["volumes"]) == sorted(one["name"] for one in ours["volumes"])
    assert {**patched, "volumes": []} == {**ours, "volumes": []}
