"""docs/monitoring/kubernetes: objects that an API server takes, and that fit together and to nccltool serve."""

import json
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from nccltool.cli.root import cli
from nccltool.monitor import metrics
from tests.docs.pages import ROOT
from tests.interop.manifests import schemas

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


EVERY = files_of("operator")


def test_every_file_belongs_to_a_base() -> None:
    folders = ("serve", "operator")
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
    words = dict(zip(container["args"][1::2], container["args"][2::2], strict=True))
    assert words == {"--listen": f":{port['containerPort']}", "--run-dir": mount["mountPath"]}


def test_nccltool_takes_its_words_and_variables() -> None:
    [container] = objects("serve")["Deployment"]["spec"]["template"]["spec"]["containers"]
    command, *words = container["args"]
    assert container["command"] == ["nccltool"]
    context = cli.commands[command].make_context(command, words)
    assert context.params["listen"] == ":9779"
    known = {str(parameter.envvar): parameter.name for parameter in context.command.params}
    assert [known[one["name"]] for one in container["env"]] == ["cluster"]
    assert metrics.cluster_name(container["env"][0]["value"])


@pytest.mark.parametrize("folder", ["serve", "operator"])
def test_kustomize_renders_the_same_objects(folder: str) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    argv = [kubectl, "kustomize", str(FOLDER / folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rendered = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
    assert rendered == objects(folder)
