"""MPIJobs: what mpirun and sshd are told, and which pods have what."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.interop import manifests
from nccltool.interop.manifests.base import Object, Request
from tests.interop.manifests.test_contract import CLAIMS, FULL, PLAIN, SSHD_OF_ROOT

ROOT = replace(PLAIN, user=0)


def spec_of(request: Request) -> Object:
    (*_, job) = manifests.objects(request, "mpijob")
    spec: Object = job["spec"]
    return spec


def container(request: Request, role: str) -> dict[str, Any]:
    template = spec_of(request)["mpiReplicaSpecs"][role]["template"]
    made: dict[str, Any] = template["spec"]["containers"][0]
    return made


@pytest.mark.parametrize(
    ("request_", "slots", "ranks"),
    [
        (PLAIN, 1, "2"),
        (replace(PLAIN, gpus=8), 8, "16"),
        (replace(PLAIN, gpus=8, nproc_per_node=4), 4, "8"),
        (replace(PLAIN, nodes=3, nproc_per_node=2), 2, "6"),
    ],
)
def test_every_slot_has_a_rank(request_: Request, slots: int, ranks: str) -> None:
    spec, words = spec_of(request_), container(request_, "Launcher")["args"]
    replicas = {role: one["replicas"] for role, one in spec["mpiReplicaSpecs"].items()}
    assert (spec["slotsPerWorker"], replicas) == (slots, {"Launcher": 1, "Worker": request_.nodes})
    assert words[words.index("-np") + 1] == ranks
    assert words[words.index("nccltool") :] == ["nccltool", *request_.words]


def test_the_end_of_a_job() -> None:
    spec = spec_of(FULL)
    assert spec["runPolicy"] == {
        "activeDeadlineSeconds": FULL.active_deadline_s,
        "backoffLimit": 0,
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": 604800,
    }
    assert {one["restartPolicy"] for one in spec["mpiReplicaSpecs"].values()} == {"Never"}


def test_ranks_have_the_variables_of_the_launcher() -> None:
    """An sshd passes none of its own."""
    made = container(FULL, "Launcher")
    words = made["args"]
    passed = [words[at + 1] for at, word in enumerate(words) if word == "-x"]
    assert set(passed) == {one["name"] for one in made["env"]} | {"PATH", "LD_LIBRARY_PATH"}
    assert len(passed) == len(set(passed))
    variables = {one["name"]: one["value"] for one in made["env"]}
    assert (variables["NCCL_DEBUG"], variables["NCCLTOOL_RDZV_ENDPOINT"]) == (
        "INFO",
        "fabric-worker-0.fabric:29600",
    )


def test_the_launcher_has_no_devices() -> None:
    launcher, worker = (spec_of(CLAIMS)["mpiReplicaSpecs"][role]["template"] for role in ("Launcher", "Worker"))
    assert worker["spec"]["resourceClaims"]
    assert "resourceClaims" not in launcher["spec"]
    (made,) = launcher["spec"]["containers"]
    assert made["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}
    assert "resources" not in container(PLAIN, "Launcher")
    for name in ("priorityClassName", "runtimeClassName", "tolerations", "nodeSelector", "hostNetwork"):
        assert launcher["spec"][name] == worker["spec"][name]


@pytest.mark.parametrize("request_", [PLAIN, ROOT])
def test_both_ends_of_ssh_use_the_key_of_the_job(request_: Request) -> None:
    keys = spec_of(request_)["sshAuthMountPath"]
    assert keys == ("/root/.ssh" if request_ is ROOT else "/run/nccltool-ssh")
    launcher, worker = (container(request_, role) for role in ("Launcher", "Worker"))
    assert f"< {keys}/id_rsa.pub" in launcher["command"][2]
    (ssh,) = (word for word in launcher["args"] if f"-i {keys}/id_rsa" in word)
    assert "StrictHostKeyChecking=yes" in ssh
    assert worker["args"][worker["args"].index("-h") + 1] == f"{keys}/id_rsa"
    assert f"AuthorizedKeysFile={keys}/authorized_keys" in worker["args"]
    port = worker["args"][worker["args"].index("-p") + 1]
    assert f"-p {port} " in ssh


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
@pytest.mark.parametrize("request_", [PLAIN, ROOT, replace(PLAIN, ipc_lock=True)])
def test_more_rights_only_for_an_sshd_of_root(request_: Request, role: str) -> None:
    made = container(request_, role)
    more = SSHD_OF_ROOT if role == "Worker" and request_ is not PLAIN else set()
    lock = {"IPC_LOCK"} if request_.ipc_lock else set()
    assert set(made["securityContext"]["capabilities"].get("add", [])) == more | lock
    assert ("--allow-run-as-root" in made["args"]) is (role == "Launcher" and request_ is not PLAIN)


def test_kubernetes_does_not_expand_the_script() -> None:
    script = container(PLAIN, "Launcher")["command"][2]
    assert "$(" not in script.replace("$$(", "")
