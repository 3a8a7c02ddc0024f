"""docs/monitoring/kubernetes: objects that an API server takes, and that fit together and to nccltool serve."""

import json
import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from nccltool.cli.root import cli
from nccltool.monitor import host_headers
from tests.conftest import Nccltool
from tests.docs.pages import ROOT
from tests.interop.manifests import schemas
from tests.support.options import parsed

FOLDER = ROOT / "docs/monitoring/kubernetes"
NAME = {"app.kubernetes.io/name": "nccltool-serve"}


def files_of(folder: str) -> list[str]:
    """The manifests of a base, as its kustomization lists them; those of bases below it first."""
    listed = yaml.safe_load((FOLDER / folder / "kustomization.yaml").read_text())
    assert listed["apiVersion"] == "kustomize.config.k8s.io/v1beta1"
    assert set(listed) == {"apiVersion", "kind", "resources"}
    found: list[str] = []
    for name in listed["resources"]:
        path = (FOLDER / folder / name).resolve()
        assert path.is_relative_to(FOLDER)
        found += files_of(path.name) if path.is_dir() else [f"{folder}/{name}"]
    return found


def objects(folder: str) -> dict[str, dict[str, Any]]:
    found = [yaml.safe_load((FOLDER / file).read_text()) for file in files_of(folder)]
    return {one["kind"]: one for one in found}


EVERY = [*files_of("operator"), *files_of("node")]


def test_every_file_belongs_to_a_base() -> None:
    folders = ("serve", "operator", "node")
    there = {f"{folder}/{file.name}" for folder in folders for file in (FOLDER / folder).iterdir()}
    assert there == {*EVERY, *(f"{folder}/kustomization.yaml" for folder in folders)}


@pytest.mark.parametrize("file", EVERY)
def test_an_object_is_as_its_schema_wants_it(file: str) -> None:
    document = yaml.safe_load((FOLDER / file).read_text())
    held = {name: schemas.problems(document, name) for name in schemas.FILES}
    judged = [wrong for wrong in held.values() if wrong is not None]
    assert judged
    assert not any(judged), judged


@pytest.mark.parametrize(
    ("kind", "path", "value", "problem"),
    [
        ("Deployment", ("spec", "replicas"), "one", "'one' is not of type 'integer'"),
        ("Deployment", ("spec", "template", "spec", "containers", 0, "port"), 1, "'port' was unexpected"),
        ("PersistentVolumeClaim", ("spec", "accessMode"), "x", "'accessMode' was unexpected"),
        ("ServiceMonitor", ("spec", "endpoints", 0, "interval"), "often", "does not match"),
        ("ServiceMonitor", ("spec", "endpoint"), [], "'endpoint' was unexpected"),
        ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "for"), "long", "does not match"),
        ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "severity"), "x", "'severity' was unexpected"),
    ],
)
def test_the_schemas_find_what_is_wrong(kind: str, path: tuple[Any, ...], value: object, problem: str) -> None:
    document = json.loads(json.dumps(objects("operator")[kind]))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    found = [wrong for name in schemas.FILES for wrong in schemas.problems(document, name) or ()]
    assert any(problem in wrong for wrong in found), found


def test_the_objects_find_each_other() -> None:
    found = objects("operator")
    pod = found["Deployment"]["spec"]["template"]
    [container] = pod["spec"]["containers"]
    [port] = container["ports"]
    [service_port] = found["Service"]["spec"]["ports"]
    [endpoint] = found["ServiceMonitor"]["spec"]["endpoints"]
    assert pod["metadata"]["labels"] == found["Deployment"]["spec"]["selector"]["matchLabels"] == NAME
    assert found["Service"]["spec"]["selector"] == found["Service"]["metadata"]["labels"] == NAME
    assert found["ServiceMonitor"]["spec"]["selector"]["matchLabels"] == NAME
    assert port["name"] == service_port["targetPort"] == service_port["name"] == endpoint["port"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/healthz", "port": port["name"]}
    [volume], [mount] = pod["spec"]["volumes"], container["volumeMounts"]
    assert volume["name"] == mount["name"]
    assert volume["persistentVolumeClaim"]["claimName"] == found["PersistentVolumeClaim"]["metadata"]["name"]
    command, *words = container["args"]
    options = parsed(command, *words)
    listen, runs = (options[name] for name in ("listen", "run_dir"))
    assert (listen, runs) == (f":{port['containerPort']}", mount["mountPath"])


def test_the_server_answers_to_the_names_of_its_service() -> None:
    found = objects("serve")
    [container] = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    [space] = (one for one in container["env"] if one["name"] == "NAMESPACE")
    assert space["valueFrom"]["fieldRef"] == {"fieldPath": "metadata.namespace"}
    command, *words = (word.replace("$(NAMESPACE)", "monitoring") for word in container["args"])
    params = parsed(command, *words)
    known = host_headers.names(params["listen"], params["allowed"])
    service = found["Service"]["metadata"]["name"]
    for domain in ("", ".monitoring", ".monitoring.svc", ".monitoring.svc.cluster.local"):
        assert host_headers.is_allowed(f"{service}{domain}:9779".encode(), known)
    assert not host_headers.is_allowed(f"{service}.elsewhere:9779".encode(), known)


@pytest.mark.parametrize(("folder", "kind"), [("serve", "Deployment"), ("node", "DaemonSet")])
def test_the_cluster_has_the_name_that_its_operator_gives(folder: str, kind: str) -> None:
    """And none otherwise: two clusters of one name would be one in Prometheus."""
    [container] = objects(folder)[kind]["spec"]["template"]["spec"]["containers"]
    [named] = (one for one in container["env"] if one["name"] == "NCCLTOOL_CLUSTER")
    assert named["valueFrom"]["configMapKeyRef"] == {"name": "nccltool-cluster", "key": "name", "optional": True}
    known = {str(one.envvar) for one in cli.commands[container["args"][0]].params}
    assert named["name"] in known


def test_the_server_and_the_nightly_job_share_their_runs() -> None:
    found = objects("serve")
    nightly = yaml.safe_load((FOLDER / "nightly.yaml").read_text())["spec"]["jobTemplate"]["spec"]["template"]
    reads, writes = (pod["spec"] for pod in (found["Deployment"]["spec"]["template"], nightly))
    claims = [
        next(one["persistentVolumeClaim"]["claimName"] for one in spec["volumes"] if one["name"] == "runs")
        for spec in (reads, writes)
    ]
    assert claims == [found["PersistentVolumeClaim"]["metadata"]["name"]] * 2
    users = [
        [spec["securityContext"][who] for who in ("runAsUser", "runAsGroup", "fsGroup")]
        for spec in (reads, writes)
    ]
    assert users == [[1000] * 3] * 2
    [container] = writes["containers"]
    [mount] = (one for one in container["volumeMounts"] if one["name"] == "runs")
    assert {"name": "NCCLTOOL_RUN_DIR", "value": mount["mountPath"]} in container["env"]
    assert "readOnly" not in mount
    assert "--metrics" not in container["args"]  # every alert would fire twice


def test_the_server_of_a_node_reads_what_pods_write_there(nccltool: Nccltool) -> None:
    """With the words that the file gives to those pods."""
    spec = objects("node")["DaemonSet"]["spec"]["template"]["spec"]
    [container], [folder] = spec["containers"], spec["initContainers"]
    [volume], [mount] = spec["volumes"], container["volumeMounts"]
    runs = parsed(*container["args"])["run_dir"]
    assert folder["args"][-1] == runs
    on_host = runs.replace(mount["mountPath"], volume["hostPath"]["path"], 1)
    text = (FOLDER / "node/daemonset.yaml").read_text()
    [words] = re.findall(r"^#   nccltool (manifest .*) \.\.\.$", text, re.MULTILINE)
    said = nccltool(*shlex.split(words), "--image", "x", "preflight")
    assert (said.code, said.err) == (0, "")
    [patch] = yaml.safe_load_all(said.out)
    [check] = patch["spec"]["template"]["spec"]["initContainers"]
    paths = {
        one["name"]: one.get("hostPath", {}).get("path") for one in patch["spec"]["template"]["spec"]["volumes"]
    }
    [seen] = (one for one in check["volumeMounts"] if paths[one["name"]] == on_host)
    assert {"name": "NCCLTOOL_RUN_DIR", "value": seen["mountPath"]} in check["env"]
    assert check["securityContext"]["runAsUser"] == container["securityContext"]["runAsUser"]
    owner = folder["args"][folder["args"].index("-o") + 1]
    assert int(owner) == container["securityContext"]["runAsUser"]


@pytest.mark.parametrize("folder", ["serve", "operator", "node"])
def test_kustomize_renders_the_same_objects(folder: str) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    argv = [kubectl, "kustomize", str(FOLDER / folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rendered = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
    assert rendered == objects(folder)
