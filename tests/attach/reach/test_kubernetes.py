"""The pods of a job."""

import json
from pathlib import Path
from typing import Any

import pytest

from nccltool.attach.reach import kubernetes
from nccltool.core.errors import BadInput, NotJudged
from tests.attach.reach.fakes import on_the_path


def _pod(name: str, phase: str = "Running", **labels: str) -> dict[str, Any]:
    named = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return {
        "metadata": {"name": name, "labels": named},
        "spec": {"containers": [{"name": "pytorch"}, {"name": "sidecar"}]},
        "status": {"phase": phase},
    }


_ROLE = {"training.kubeflow.org/job-name": "llama", "training.kubeflow.org/job-role": "launcher"}
_PODS = [
    _pod("w0", **{"training.kubeflow.org/job-name": "llama"}),
    _pod("w1", **{"jobset.sigs.k8s.io/jobset-name": "llama"}),
    _pod("launcher", **_ROLE),
    _pod("done", "Succeeded", **{"job-name": "llama"}),
    _pod("other", **{"job-name": "mistral"}),
]


def _kubectl(monkeypatch: pytest.MonkeyPatch, folder: Path, document: object) -> None:
    (folder / "pods.json").write_text(json.dumps(document))
    on_the_path(monkeypatch, folder, kubectl=f"cat {folder}/pods.json")


def test_running_pods_of_the_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _kubectl(monkeypatch, tmp_path, {"items": _PODS})
    first, second, launcher = kubernetes.commands("ml/llama", None, None)
    assert (first.name, second.name, launcher.name) == ("w0", "w1", "launcher")
    assert [one.is_optional for one in (first, second, launcher)] == [False, False, True]
    assert first.argv == (
        *("kubectl", "exec", "--stdin", "--namespace=ml", "w0", "--container=pytorch", "--"),
        *("python3", "-P", "-m", "nccltool.attach.reach.far_end"),
    )
    named, *_ = kubernetes.commands("ml/llama", "sidecar", "/opt/python")
    assert named.argv[5:8] == ("--container=sidecar", "--", "/opt/python")


def test_an_ephemeral_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _kubectl(monkeypatch, tmp_path, {"items": _PODS[:1]})
    (one,) = kubernetes.commands("ml/llama", None, None, "registry/nccltool:1")
    assert one.argv == (
        *("kubectl", "debug", "--stdin", "--namespace=ml", "w0", "--quiet", "--image=registry/nccltool:1"),
        *("--target=pytorch", "--profile=general", "--", "python3", "-P", "-m", "nccltool.attach.reach.far_end"),
    )
    assert "pods/ephemeralcontainers" in one.remedy


@pytest.mark.parametrize("image", ["", "--privileged", "a b"])
def test_what_is_no_image(image: str) -> None:
    with pytest.raises(BadInput, match="is no image"):
        kubernetes.commands("ml/llama", None, None, image)


def test_no_pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _kubectl(monkeypatch, tmp_path, {"items": _PODS})
    with pytest.raises(NotJudged, match="no running pod of ml/x was found"):
        kubernetes.commands("ml/x", None, None)
    _kubectl(monkeypatch, tmp_path, {"items": 3})
    with pytest.raises(NotJudged, match="wrote something else"):
        kubernetes.commands("ml/x", None, None)
    on_the_path(monkeypatch, tmp_path, kubectl="echo forbidden >&2; exit 1")
    with pytest.raises(NotJudged, match="kubectl get pods: forbidden"):
        kubernetes.commands("ml/x", None, None)


@pytest.mark.parametrize("name", ["llama", "/llama", "ml/", "-n/x"])
def test_what_is_no_job(name: str) -> None:
    with pytest.raises(BadInput, match="is not NAMESPACE/NAME"):
        kubernetes.commands(name, None, None)
