"""The pods of a job in Kubernetes, reached by kubectl exec, which needs nccltool in the image."""

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from nccltool.attach.reach.asking import FarCommand
from nccltool.attach.reach.far_end import MODULE
from nccltool.core import external_commands
from nccltool.core.errors import BadInput, NotJudged
from nccltool.core.unknown import Unknown

_JOB_LABELS = (
    *("training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name", "leaderworkerset.sigs.k8s.io/name"),
    *("ray.io/cluster", "volcano.sh/job-name", "batch.kubernetes.io/job-name", "job-name"),
)
"""Of PyTorchJob and MPIJob, JobSet and TrainJob, LeaderWorkerSet, RayCluster, Volcano, and Job."""
_LAUNCHERS = ("training.kubeflow.org/job-role", "training.kubeflow.org/replica-type")
_DEFAULT = "kubectl.kubernetes.io/default-container"
_ASK_S = 20.0


class _Container(msgspec.Struct):
    name: str


class _Meta(msgspec.Struct):
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Spec(msgspec.Struct):
    containers: list[_Container]


class _Status(msgspec.Struct):
    phase: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec
    status: _Status


class _Pods(msgspec.Struct):
    items: list[_Pod]


def commands(
    name: str, container: str | None, remote_python: str | None, image: str | None = None
) -> tuple[FarCommand, ...]:
    """A kubectl exec for each running pod of NAMESPACE/NAME. Raises BadInput, NotJudged.

    `image`: of an ephemeral container that is added to each pod, which stays in the pod until it ends.
    """
    if image is not None and (not image or image.startswith("-") or image.split() != [image]):
        raise BadInput(f"--debug-container {image[:80]!r} is no image", "name an image that has nccltool")
    namespace, sign, job = name.partition("/")
    if not sign or not namespace or not job or name.startswith("-") or job.startswith("-"):
        raise BadInput(
            f"--kubernetes {name[:80]!r} is not NAMESPACE/NAME", "for example --kubernetes ml/llama-70b"
        )
    if shutil.which("kubectl") is None:
        raise BadInput("--kubernetes: kubectl not found", "install kubectl and choose a context")
    pods = list(_of_job(_listed(namespace), job))
    if not pods:
        labels = ", ".join(_JOB_LABELS[:4])
        raise NotJudged(
            f"no running pod of {name} was found by the labels {labels}, and similar",
            f"kubectl get pods -n {namespace} --show-labels",
        )
    return tuple(_command(namespace, pod, container, remote_python or "python3", image) for pod in pods)


def _listed(namespace: str) -> _Pods:
    done = external_commands.run(
        ("kubectl", "get", "pods", f"--namespace={namespace}", "--output=json"), _ASK_S, longest=64 << 20
    )
    if isinstance(done, Unknown):
        raise NotJudged(f"--kubernetes: {done.reason}", "kubectl cluster-info")
    if done.code:
        said = done.err.strip().splitlines()
        raise NotJudged(
            f"kubectl get pods: {said[-1][:200] if said else f'exit code {done.code}'}",
            f"kubectl cluster-info; kubectl auth can-i list pods -n {namespace}",
        )
    try:
        return msgspec.json.decode(done.out, type=_Pods)
    except ValueError as error:
        raise NotJudged(
            f"kubectl get pods wrote something else: {error}", "check which kubectl is found"
        ) from error


def _of_job(pods: _Pods, job: str) -> Iterator[_Pod]:
    for pod in pods.items:
        if pod.status.phase == "Running" and job in _jobs(pod.metadata.labels):
            yield pod


def _is_launcher(pod: _Pod) -> bool:
    """The launcher of an MPIJob is a rank, too, if it has runLauncherAsWorker."""
    return any(pod.metadata.labels.get(label) == "launcher" for label in _LAUNCHERS)


def _jobs(labels: Mapping[str, Any]) -> set[str]:
    return {labels[label] for label in _JOB_LABELS if label in labels}


def _command(namespace: str, pod: _Pod, container: str | None, python: str, image: str | None) -> FarCommand:
    within = container or pod.metadata.annotations.get(_DEFAULT) or pod.spec.containers[0].name
    name = pod.metadata.name
    place = ("--stdin", f"--namespace={namespace}", name)
    how: tuple[str, ...] = ("kubectl", "exec", *place, f"--container={within}")
    has, may = "the image", "the permission pods/exec"
    if image is not None:
        how = (
            "kubectl",
            "debug",
            *place,
            "--quiet",
            f"--image={image}",
            f"--target={within}",
            "--profile=general",
        )
        has, may = image, "the permission pods/ephemeralcontainers"
    return FarCommand(
        argv=(*how, "--", python, *MODULE),
        name=name,
        remedy=f"{has} needs nccltool (--remote-python names its Python), and this user {may}",
        is_optional=_is_launcher(pod),
    )
