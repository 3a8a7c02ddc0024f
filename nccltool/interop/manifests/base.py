"""What all kinds have in common: the pod."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
"""Where a pod of an Indexed Job reads its number."""
LABEL = "app.kubernetes.io/instance"
"""Has the name that was given; on all pods of all kinds."""
_SCRATCH = "/tmp"  # noqa: S108 - a volume of the pod's own
_SECRET, _SECRET_FILE = "run-secret", "secret"
_SECRET_FOLDER = "/run/nccltool"  # noqa: S105 - where it is, not what it is

_ENV = {"HOME": _SCRATCH, "USER": "nccltool", "NCCLTOOL_RUN_DIR": f"{_SCRATCH}/runs"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to run, and what its pods need."""

    words: tuple[str, ...]
    """The command after `nccltool`."""
    nodes: int
    nproc_per_node: int | None
    name: str
    namespace: str | None = None
    image: str
    gpus: int = 0
    resources: Mapping[str, str] = field(default_factory=dict)
    shm_size: str = "8Gi"
    ipc_lock: bool = False
    host_network: bool = False
    allow_same_host: bool = False
    user: int = 1000
    service_account: str | None = None
    image_pull_secret: str | None = None
    """The name of one; never its content."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Object, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    port: int = 29500
    run_secret: str = field(default="", repr=False)
    """What opens the bus of the run; empty = no node calls another."""
    active_deadline_s: int

    @property
    def selector(self) -> Object:
        return {LABEL: self.name}

    @property
    def labels(self) -> Object:
        return {"app.kubernetes.io/name": "nccltool", **self.selector}


def metadata(request: Request) -> Object:
    where = {"namespace": request.namespace} if request.namespace else {}
    return {"name": request.name, **where, "labels": request.labels}


def secret(request: Request) -> Object:
    """What all pods of the run have in common, and nobody else."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata(request), "name": _secret_name(request)},
        "type": "Opaque",
        "stringData": {_SECRET_FILE: request.run_secret},
    }


def _secret_name(request: Request) -> str:
    return f"{request.name}-{_SECRET}"


def pod_template(request: Request, container_name: str, env: list[Object], **more: Any) -> Object:
    """A pod that runs the command. `more` goes into the container."""
    file = {"name": "NCCLTOOL_RDZV_SECRET_FILE", "value": f"{_SECRET_FOLDER}/{_SECRET_FILE}"}
    made = container(request, container_name, [*env, file]) | more
    made["volumeMounts"].append({"name": _SECRET, "mountPath": _SECRET_FOLDER, "readOnly": True})
    mounted = {"name": _SECRET, "secret": {"secretName": _secret_name(request)}}
    notes = {"annotations": dict(request.annotations)} if request.annotations else {}
    return {
        "metadata": {"labels": request.labels, **notes},
        "spec": {
            "restartPolicy": "Never",
            # the command asks nothing of the cluster
            "automountServiceAccountToken": False,
            # a service called nccltool would else set NCCLTOOL_PORT and the like
            "enableServiceLinks": False,
            **_placement(request),
            "securityContext": security(request),
            "containers": [made],
            "volumes": [*volumes(request), mounted],
        },
    }


def volumes(request: Request, prefix: str = "") -> list[Object]:
    """What the container mounts; `prefix` of their names, where the pod is somebody else's."""
    return [
        {"name": f"{prefix}shm", "emptyDir": {"medium": "Memory", "sizeLimit": request.shm_size}},
        {"name": f"{prefix}scratch", "emptyDir": {}},
    ]


def _placement(request: Request) -> Object:
    spec: Object = {}
    if request.service_account:
        spec["serviceAccountName"] = request.service_account
    if request.image_pull_secret:
        spec["imagePullSecrets"] = [{"name": request.image_pull_secret}]
    if request.host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if request.node_selector:
        spec["nodeSelector"] = dict(request.node_selector)
    if request.tolerations:
        spec["tolerations"] = list(request.tolerations)
    if not request.allow_same_host:
        term = {"labelSelector": {"matchLabels": request.selector}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return spec


def security(request: Request) -> Object:
    """Who runs it; of a pod, or of a container."""
    who: Object = {"runAsNonRoot": True, "runAsUser": request.user, "runAsGroup": request.user}
    # a capability that is added to a container is in force for root only: Kubernetes sets no ambient ones
    if request.ipc_lock or request.user == 0:
        who = {"runAsUser": 0}
    return {**who, "seccompProfile": {"type": "RuntimeDefault"}}


def container(request: Request, name: str, env: list[Object], prefix: str = "") -> Object:
    """Runs the command. `prefix`: of the names of its volumes."""
    capabilities: Object = {"drop": ["ALL"]}
    if request.ipc_lock:
        capabilities["add"] = ["IPC_LOCK"]
    return {
        "name": name,
        "image": request.image,
        "command": ["nccltool"],
        # $(NAME) would be replaced by a variable
        "args": [word.replace("$(", "$$(") for word in request.words],
        "env": [
            # each name once: the API server may refuse it twice
            *({"name": key, "value": value} for key, value in {**_ENV, **request.env}.items()),
            *env,
        ],
        **_resources(request),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": capabilities,
        },
        "volumeMounts": [
            {"name": f"{prefix}shm", "mountPath": "/dev/shm"},  # noqa: S108
            {"name": f"{prefix}scratch", "mountPath": _SCRATCH},
        ],
    }


def _resources(request: Request) -> Object:
    wanted = dict(request.resources)
    if request.gpus:
        wanted = {"nvidia.com/gpu": str(request.gpus), **wanted}
    return {"resources": {"requests": wanted, "limits": dict(wanted)}} if wanted else {}


def job_policy(request: Request) -> Object:
    """Of a Job whose pods are the nodes. No pod is started again: it would meet ranks that have moved on.

    The limit is one for each index, so that the others go on: where one failed pod ended the whole job, Kubernetes
    would delete the others, and with them the log that says why.
    """
    return {
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
        "activeDeadlineSeconds": request.active_deadline_s,
    }
