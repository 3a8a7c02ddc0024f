"""Manifests in the API server of Kubernetes itself, without nodes. Skipped where it is not installed."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from nccltool.interop import manifests
from nccltool.interop.manifests.base import Object, Request
from tests.docs.pages import ROOT
from tests.interop.manifests import schemas
from tests.interop.manifests.test_contract import (
    CHECK,
    CLAIMS,
    FULL,
    REQUESTS,
    a_job,
    each_kind,
    merged,
    pods,
)

PROGRAMS = ("etcd", "kube-apiserver", "kubectl", "openssl")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
KUBERNETES = ROOT / "docs/monitoring/kubernetes"
START_S = 120
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")
CLASSES: tuple[Object, ...] = (
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": FULL.priority_class},
        "value": 1000,
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": FULL.runtime_class},
        "handler": "nvidia",
    },
)
Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


def _ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("api-server")
    client, peer, secure = _ports(3)
    key = folder / "sa.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    etcd = ["etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls=http://127.0.0.1:{client}"]
    etcd += [f"--advertise-client-urls=http://127.0.0.1:{client}", f"--listen-peer-urls=http://127.0.0.1:{peer}"]
    server = ["kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", f"--cert-dir={folder}/certs"]
    server += ["--bind-address=127.0.0.1", f"--secure-port={secure}", "--authorization-mode=AlwaysAllow"]
    server += [f"--service-account-{what}-file={key}" for what in ("key", "signing-key")]
    server += ["--service-account-issuer=https://localhost", "--disable-admission-plugins=ServiceAccount"]
    tokens = folder / "tokens.csv"
    tokens.write_text("test,test,test,system:masters\n")
    # without its cache, it also serves from an etcd that cannot tell how far its streams are (before 3.4.25)
    server += [f"--token-auth-file={tokens}", "--watch-cache=false"]
    config = folder / "config"
    config.write_text("")  # not that of the user
    argv = [
        "kubectl",
        f"--kubeconfig={config}",
        f"--server=https://127.0.0.1:{secure}",
        "--insecure-skip-tls-verify",
        "--token=test",
    ]

    def run(*words: str, documents: tuple[Object, ...] | str = ()) -> "subprocess.CompletedProcess[str]":
        # JSON: other readers of YAML take the 1e2 of PyYAML for a number
        text = documents if isinstance(documents, str) else json.dumps(_list(documents))
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
        command = [shutil.which("kubectl") or "kubectl", *argv[1:], *words]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=60, check=False, env=env
        )

    with ExitStack() as running:
        for command in (etcd, server):
            log = running.enter_context((folder / f"{command[0]}.log").open("wb"))
            process = running.enter_context(subprocess.Popen(command, stdout=log, stderr=log, cwd=folder))
            running.callback(process.kill)
        until = time.monotonic() + START_S
        while run("get", "--raw", "/readyz", "--request-timeout=5s").returncode:
            assert time.monotonic() < until, (folder / "kube-apiserver.log").read_text()[-2000:]
            time.sleep(0.5)
        yield run


@pytest.fixture(scope="module")
def cluster(kubectl: Kubectl) -> Kubectl:
    """The server with the kinds of our schemas, and a namespace for pods without rights."""
    made = tuple(_definition(json.loads((schemas.FOLDER / file).read_text())) for file in _of_newest())
    done = kubectl("create", "-f", "-", documents=(*made, *CLASSES))
    assert done.returncode == 0, done.stderr
    until = time.monotonic() + START_S
    # it refuses those that have no condition yet
    while (done := kubectl("wait", "--for=condition=established", "--timeout=5s", "crd", "--all")).returncode:
        assert time.monotonic() < until, done.stderr
        time.sleep(0.5)
    for name, level in (("ml", "privileged"), ("strict", "restricted")):
        labels = {"pod-security.kubernetes.io/enforce": level}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        assert kubectl("create", "-f", "-", documents=(space,)).returncode == 0
    return kubectl


def _list(documents: tuple[Object, ...]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": list(documents)}


def _of_newest() -> list[str]:
    return [file for file in schemas.FILES if not file.startswith(("kubernetes-", "trainer-2.0"))]


def _definition(schema: dict[str, Any]) -> Object:
    """The CustomResourceDefinition of a schema file; what it takes from Kubernetes is left open."""
    kind, group = schema["kind"], schema["group"]
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower()}
    version = {
        "name": schema["version"],
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _without_references(schema["schema"])},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def _without_references(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_references(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {key: _without_references(value) for key, value in schema.items()}


@each_kind
@pytest.mark.parametrize("request_", [*REQUESTS.values(), CLAIMS], ids=[*REQUESTS, "claims"])
def test_the_server_takes_every_object(kind: str, request_: Request, cluster: Kubectl) -> None:
    documents = manifests.render(request_, kind)
    where = ("--namespace", request_.namespace or "default")
    for words in (("apply", "--server-side", "--dry-run=server"), ("create",)):
        done = cluster(*words, "--validate=strict", *where, "-f", "-", documents=documents)
        assert (done.returncode, done.stderr) == (0, ""), (words, done.stderr)
    done = cluster("delete", "--wait=false", *where, "-f", "-", documents=documents)
    assert done.returncode == 0, done.stderr


@each_kind
@pytest.mark.parametrize("request_", [*REQUESTS.values(), CLAIMS], ids=[*REQUESTS, "claims"])
def test_the_server_takes_the_pods_of_every_object(kind: str, request_: Request, cluster: Kubectl) -> None:
    """Operators make them of templates that their own schemas check less well."""
    for number, spec in enumerate(pods(manifests.objects(request_, kind))):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec}
        done = cluster("create", "--dry-run=server", "--validate=strict", "-n", "ml", "-f", "-", documents=(pod,))
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "refused"),
    [("plain", None), ("full", "hostNetwork=true"), ("full", "hostPath"), ("one node", "runAsUser=0")],
)
def test_which_pods_the_restricted_policy_takes(name: str, refused: str | None, cluster: Kubectl) -> None:
    (spec,) = pods(manifests.objects(REQUESTS[name], "job"))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
    done = cluster("create", "--dry-run=server", "-n", "strict", "-f", "-", documents=(pod,))
    assert (done.returncode == 0) is (refused is None), done.stderr
    assert (refused or "") in done.stderr


def test_the_server_takes_a_job_with_an_init_container(cluster: Kubectl) -> None:
    patched = merged(a_job(), manifests.objects(CHECK, "init-container")[0])
    done = cluster("create", "--dry-run=server", "--validate=strict", "-f", "-", documents=(patched,))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_server_finds_what_is_wrong(cluster: Kubectl) -> None:
    job = a_job()
    job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"][0]["name"] = "elsewhere"
    done = cluster("create", "--dry-run=server", "-f", "-", documents=(job,))
    assert done.returncode == 1
    assert 'volumeMounts[0].name: Not found: "elsewhere"' in done.stderr


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in KUBERNETES.glob("*/kustomization.yaml")))
def test_the_server_takes_the_bases(folder: str, cluster: Kubectl) -> None:
    done = cluster(
        "apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", str(KUBERNETES / folder)
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_server_takes_the_nightly_job(cluster: Kubectl) -> None:
    file: Path = KUBERNETES / "nightly.yaml"
    done = cluster("create", "--dry-run=server", "--validate=strict", "-f", str(file))
    assert (done.returncode, done.stderr) == (0, "")
