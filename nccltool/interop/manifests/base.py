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
OWN_FOLDERS = ("/dev/shm", _SCRATCH, _SECRET_FOLDER)  # noqa: S108
"""Where volumes of the manifest are mounted."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""On a job whose start Kueue decides; Kueue suspends such a job itself."""
_CLAIM, _CHANNEL = "claim", "imex-channel"

_ENV = {"HOME": _SCRATCH, "USER": "nccltool", "NCCLTOOL_RUN_DIR": f"{_SCRATCH}/runs"}


@dataclass(frozen=True, slots=True)
class HostPath:
    """A file or folder of the host that the container sees."""

    host: str
    container: str
    read_only: bool = False


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
    more_labels: Mapping[str, str] = field(default_factory=dict)
    queue: str | None = None
    priority_class: str | None = None
    runtime_class: str | None = None
    host_paths: tuple[HostPath, ...] = ()
    claim_templates: tuple[str, ...] = ()
    """Names of ResourceClaimTemplates; each pod has a claim of each."""
    compute_domain: bool = False
    """Whether the pods share the memory of their GPUs over NVLink between hosts (IMEX)."""
    env: Mapping[str, str] = field(default_factory=dict)
    port: int = 29500
    run_secret: str = field(default="", repr=False)
    """What opens the bus of the run; empty = no node calls another."""
    active_deadline_s: int

    @property
    def is_root(self) -> bool:
        """A capability that is added to a container is in force for root only: Kubernetes sets no ambient ones."""
        return self.ipc_lock or self.user == 0

    @property
    def selector(self) -> Object:
        return {LABEL: self.name}

    @property
    def labels(self) -> Object:
        return {**self.more_labels, "app.kubernetes.io/name": "nccltool", **self.selector}


def metadata(request: Request) -> Object:
    where = {"namespace": request.namespace} if request.namespace else {}
    return {"name": request.name, **where, "labels": request.labels}


def queued_metadata(request: Request) -> Object:
    """The metadata of the object that Kueue admits."""
    own = metadata(request)
    return {**own, "labels": {**own["labels"], QUEUE_LABEL: request.queue}} if request.queue else own


def companions(request: Request) -> tuple[Object, ...]:
    """What the pods need from the start, whatever kind makes them."""
    return (_secret(request), *([_compute_domain(request)] if request.compute_domain else []))


def _compute_domain(request: Request) -> Object:
    """NVIDIA's DRA driver makes the template of the claims and runs the daemons."""
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": metadata(request),
        "spec": {
            "numNodes": request.nodes,
            "channel": {"resourceClaimTemplate": {"name": _channel_template(request)}},
        },
    }


def _channel_template(request: Request) -> str:
    return f"{request.name}-{_CHANNEL}"


def _claims(request: Request) -> dict[str, str]:
    """The template of each claim, by the name that pod and container have for the claim."""
    named = {f"{_CLAIM}-{number}": template for number, template in enumerate(request.claim_templates)}
    return named | ({_CHANNEL: _channel_template(request)} if request.compute_domain else {})


def _secret(request: Request) -> Object:
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
        *(
            {"name": f"{prefix}host-{number}", "hostPath": {"path": path.host}}
            for number, path in enumerate(request.host_paths)
        ),
    ]


def _mounts(request: Request, prefix: str) -> list[Object]:
    own: list[Object] = [
        {"name": f"{prefix}shm", "mountPath": "/dev/shm"},  # noqa: S108
        {"name": f"{prefix}scratch", "mountPath": _SCRATCH},
    ]
    for number, path in enumerate(request.host_paths):
        mount: Object = {"name": f"{prefix}host-{number}", "mountPath": path.container}
        own.append({**mount, "readOnly": True} if path.read_only else mount)
    return own


def _placement(request: Request) -> Object:
    spec: Object = {}
    if request.priority_class:
        spec["priorityClassName"] = request.priority_class
    if request.runtime_class:
        spec["runtimeClassName"] = request.runtime_class
    if claims := _claims(request):
        spec["resourceClaims"] = [
            {"name": name, "resourceClaimTemplateName": template} for name, template in claims.items()
        ]
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
    if request.is_root:
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
        "args": [literal(word) for word in request.words],
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
        "volumeMounts": _mounts(request, prefix),
    }


def literal(word: str) -> str:
    """A word of a command that comes as it is: Kubernetes would replace $(NAME) by a variable."""
    return word.replace("$(", "$$(")


def _resources(request: Request) -> Object:
    wanted = dict(request.resources)
    if request.gpus:
        wanted = {"nvidia.com/gpu": str(request.gpus), **wanted}
    amounts: Object = {"requests": wanted, "limits": dict(wanted)} if wanted else {}
    claims = {"claims": [{"name": name} for name in _claims(request)]} if _claims(request) else {}
    return {"resources": amounts | claims} if amounts or claims else {}


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
