"""From the words of `nccltool manifest` to a Request; every word that cannot be used is one clear sentence."""

import math
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace

from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes, parse_bytes
from nccltool.interop.manifests.base import LABEL, OWN_FOLDERS, QUEUE_LABEL, HostPath, Request
from nccltool.launch import gpu_shares
from nccltool.launch.launchers import slurm
from nccltool.launch.launchers.base import asked_nproc
from nccltool.launch.order import LaunchOrder
from nccltool.probe import options as probe_options
from nccltool.probe.job import ProbeJob
from nccltool.probe.options import ProbeOptions

JOIN_TIMEOUT_S = 600
"""--join-timeout of pods where nothing is said: they do not start together, and each pulls its image first."""
ELSEWHERE = (
    *("node_rank", "rdzv_endpoint", "rdzv_secret_file", "launcher", "hosts", "hostfile", "ssh", "remote_python"),
    *("remote_env", "keep_going"),
)
"""Options of the command that say where its nodes are and how to start them."""
LEFT_IN_PODS = ("output", "plot")
"""Options of the command that write files, which end with the pod."""
OF_THE_JOB = (
    *("namespace", "host_network", "allow_same_host", "service_account", "image_pull_secret", "node_selector"),
    *("toleration", "annotation", "rdzv_port", "pull_time"),
    *("label", "queue", "priority_class", "runtime_class", "resource_claim", "compute_domain"),
)
"""Options that say what the job itself says already, where a container is put into its pods."""
_SECRET_BYTES = 32
"""As many as the command makes itself."""
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
"""A DNS label; shorter than its 63 characters, for kinds whose pods' names add as many."""
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_IMAGE = re.compile(r"[\w./:@-]{1,500}", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KEY = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", re.ASCII)
_LABEL = re.compile(r"([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS = tuple(f"NCCLTOOL_{name.upper()}" for name in ELSEWHERE)
_GPUS = "nvidia.com/gpu"
_LABELS_OF_OURS = {
    LABEL: "use --name",
    "app.kubernetes.io/name": "omit it: every object has it",
    QUEUE_LABEL: "use --queue",
}
_PATH = re.compile(r"(?!.*(^|/)\.\.(/|$))/[^:\x00-\x1f\x7f]{0,1023}")
"""Absolute, and without `..`, which Kubernetes refuses."""
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestOptions:
    """The options of `nccltool manifest` as they were given; a field has the name of its option."""

    image: str
    name: str
    namespace: str | None
    gpus: int
    rdma_resource: tuple[str, ...]
    resource: tuple[str, ...]
    shm_size: str
    ipc_lock: bool
    user: int
    host_network: bool
    allow_same_host: bool
    service_account: str | None
    image_pull_secret: str | None
    node_selector: tuple[str, ...]
    toleration: tuple[str, ...]
    annotation: tuple[str, ...]
    label: tuple[str, ...]
    queue: str | None
    priority_class: str | None
    runtime_class: str | None
    resource_claim: tuple[str, ...]
    compute_domain: bool
    host_path: tuple[str, ...]
    env: tuple[str, ...]
    rdzv_port: int
    pull_time: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PodCommand:
    """The command that the pods will run."""

    words: tuple[str, ...]
    options: ProbeOptions | None
    """Its options; None = of another command."""
    given: frozenset[str]
    """Those that are among the words."""


def request(asked: PodCommand, options: ManifestOptions) -> Request:
    """The request that the options of `nccltool manifest` describe. Raises BadInput."""
    order = _order(asked, options)
    words = [*asked.words, *([] if "events" in asked.given else ["--events"])]
    if "join_timeout" not in asked.given:
        words += ["--join-timeout", str(JOIN_TIMEOUT_S)]
    return replace(
        _of_pods(words, options),
        nodes=order.job.nodes or 1,
        nproc_per_node=order.job.nproc_per_node if "nproc_per_node" in asked.given else None,
        namespace=_optional("--namespace", options.namespace, _NAMESPACE),
        host_network=options.host_network,
        allow_same_host=options.allow_same_host,
        service_account=_optional("--service-account", options.service_account, _SUBDOMAIN),
        image_pull_secret=_optional("--image-pull-secret", options.image_pull_secret, _SUBDOMAIN),
        node_selector=_each_once("--node-selector", options.node_selector, _LABEL),
        tolerations=tuple(_toleration(text) for text in options.toleration),
        annotations=_each_once("--annotation", options.annotation),
        more_labels=_labels(options.label),
        queue=_optional("--queue", options.queue, _NAMESPACE),
        priority_class=_optional("--priority-class", options.priority_class, _SUBDOMAIN),
        runtime_class=_optional("--runtime-class", options.runtime_class, _SUBDOMAIN),
        claim_templates=_claim_templates(options.resource_claim),
        compute_domain=_compute_domain(options),
        port=options.rdzv_port,
        run_secret=secrets.token_hex(_SECRET_BYTES),
        active_deadline_s=math.ceil(order.job.deadline_s + options.pull_time),
    )


def request_of_patch(asked: PodCommand, options: ManifestOptions) -> Request:
    """The request for a container in the pods of another job; its command looks at one node. Raises BadInput."""
    return _of_pods((*asked.words, "--launcher", "local", "--nodes", "1"), options)


def _of_pods(words: Iterable[str], options: ManifestOptions) -> Request:
    return Request(
        words=tuple(words),
        nodes=1,
        nproc_per_node=None,
        name=_matching("--name", options.name, _NAME, "at most 40 lowercase letters, digits, and -"),
        image=_matching("--image", options.image, _IMAGE, "REGISTRY/NAME:TAG"),
        gpus=options.gpus,
        resources=_resources(options),
        shm_size=_shm_size(options.shm_size),
        ipc_lock=options.ipc_lock,
        user=options.user,
        env=_env(options.env),
        host_paths=_host_paths(options.host_path),
        active_deadline_s=0,
    )


def _order(asked: PodCommand, pods: ManifestOptions) -> LaunchOrder[ProbeJob]:
    """Reads the command's words as the pods will; whether this machine has GPUs does not matter to them."""
    options, gpus = asked.options, pods.gpus
    assert options is not None
    nproc, variables = asked_nproc(options.start), dict(_pairs("--env", pods.env, _VARIABLE))
    if options.start.backend == "nccl" and nproc is not None:
        gpu_shares.require(gpus, nproc, variables)
    if options.start.backend == "auto" and gpus and nproc and not gpu_shares.suffice(gpus, nproc, variables):
        raise BadInput(
            f"--gpus {gpus} is not enough for --nproc-per-node {nproc}: NCCL needs one GPU per rank",
            f"request GPUs: --gpus {nproc}; or start {gpus} ranks, or measure on CPUs: --backend gloo",
        )
    if options.cuda_graph and not gpus:
        raise BadInput("--cuda-graph needs NCCL and a GPU on every rank", "request GPUs: --gpus 8")
    start, elsewhere = slurm.stand_in(options.start)
    if start.backend == "auto":
        start = replace(start, backend="nccl" if gpus else "gloo")
    return probe_options.from_options(replace(options, start=start, cuda_graph=False), elsewhere)


def _matching(option: str, text: str, pattern: re.Pattern[str], what: str) -> str:
    if not pattern.fullmatch(text):
        raise BadInput(f"{option} {text[:80]!r} cannot be used", f"write {what}")
    return text


def _optional(option: str, text: str | None, pattern: re.Pattern[str]) -> str | None:
    return None if text is None else _matching(option, text, pattern, "lowercase letters, digits, and -")


def _shm_size(text: str) -> str:
    try:
        size = parse_bytes(text)
    except BadInput as error:
        raise BadInput(f"--shm-size: {error.message}", error.remedy) from error
    if size == 0:
        raise BadInput("--shm-size: NCCL and torch need shared memory", "use --shm-size 8GiB")
    number, unit = format_bytes(size).split()
    return f"{number}{unit.removesuffix('B')}" if "." not in number else str(size)


def _resources(options: ManifestOptions) -> dict[str, str]:
    """Raises BadInput for one that two options ask for."""
    found = dict[str, str]()
    counted = _pairs("--rdma-resource", options.rdma_resource, _KEY, re.compile(r"[1-9][0-9]{0,3}"))
    others = _pairs("--resource", options.resource, _KEY, _QUANTITY)
    asked = [("--rdma-resource", *pair) for pair in counted] + [("--resource", *pair) for pair in others]
    for option, name, count in asked:
        if name == _GPUS:
            raise BadInput(f"{option} {name}={count} is what --gpus asks for", f"use --gpus {count}")
        if found.get(name, count) != count:
            raise BadInput(
                f"{option} {name}={count} contradicts {name}={found[name]}", "ask for each resource once"
            )
        found[name] = count
    return found


def _env(texts: Iterable[str]) -> dict[str, str]:
    """Variables of the pods. Where the pods are, and how they meet, is the manifest's to say."""
    env = dict(_pairs("--env", texts, _VARIABLE))
    for name in env:
        if name in _OURS:
            raise BadInput(f"--env {name} has no meaning in a manifest", "omit it: the pods find each other")
    return env


def _each_once(option: str, texts: Iterable[str], value: re.Pattern[str] | None = None) -> dict[str, str]:
    """Raises BadInput for a key that has two values."""
    found = dict[str, str]()
    for key, text in _pairs(option, texts, _KEY, value):
        if found.setdefault(key, text) != text:
            raise BadInput(f"{option} {key}={text} contradicts {key}={found[key]}", "write each key once")
    return found


def _labels(texts: Iterable[str]) -> dict[str, str]:
    labels = _each_once("--label", texts, _LABEL)
    for key in labels:
        if key in _LABELS_OF_OURS:
            raise BadInput(f"--label {key} is set by nccltool itself", _LABELS_OF_OURS[key])
    return labels


def _claim_templates(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        _matching("--resource-claim", name, _SUBDOMAIN, "the name of a ResourceClaimTemplate") for name in names
    )


def _compute_domain(options: ManifestOptions) -> bool:
    if options.compute_domain and not options.gpus:
        raise BadInput("--compute-domain connects GPUs, but the pods have none", "request GPUs: --gpus 4")
    return options.compute_domain


def _host_paths(texts: Iterable[str]) -> tuple[HostPath, ...]:
    found = dict[str, HostPath]()
    for text in texts:
        path = _host_path(text)
        folder = path.container.rstrip("/")
        if folder in ("", *OWN_FOLDERS):
            raise BadInput(
                f"--host-path {text[:80]!r} would hide {path.container} of the container",
                "use another folder in the container",
            )
        if folder in found:
            raise BadInput(
                f"--host-path: {found[folder].host} and {path.host} cannot both be {folder} in the container",
                "use two folders in the container",
            )
        found[folder] = path
    return tuple(found.values())


def _host_path(text: str) -> HostPath:
    host, _, rest = text.partition(":")
    container, colon, mode = rest.partition(":")
    if not (_PATH.fullmatch(host) and _PATH.fullmatch(container)) or (colon and mode != "ro"):
        raise BadInput(f"--host-path {text[:80]!r} cannot be used", _EXAMPLES["--host-path"])
    return HostPath(host, container, mode == "ro")


def _pairs(
    option: str, texts: Iterable[str], key: re.Pattern[str], value: re.Pattern[str] | None = None
) -> Iterable[tuple[str, str]]:
    for text in texts:
        left, equals, right = text.partition("=")
        if not equals or not key.fullmatch(left) or (value is not None and not value.fullmatch(right)):
            raise BadInput(f"{option} {text[:80]!r} cannot be used", _EXAMPLES[option])
        yield left, right


_EXAMPLES = {
    "--rdma-resource": "for example --rdma-resource rdma/hca_shared_devices_a=1",
    "--resource": "for example --resource cpu=8 --resource memory=64Gi",
    "--node-selector": "for example --node-selector node.kubernetes.io/instance-type=p5.48xlarge",
    "--annotation": "for example --annotation k8s.v1.cni.cncf.io/networks=rail0,rail1",
    "--env": "for example --env NCCL_DEBUG=INFO",
    "--label": "for example --label team=ml",
    "--host-path": "absolute paths, for example --host-path /opt/tcpx/lib64:/usr/local/nvidia/lib64:ro",
    "--toleration": "for example --toleration nvidia.com/gpu:NoSchedule",
}


def _toleration(text: str) -> dict[str, str]:
    """As `kubectl taint` writes taints; without a value, all values; without an effect, all effects."""
    taint, _, effect = text.partition(":")
    key, equals, value = taint.partition("=")
    if not _KEY.fullmatch(key) or not _LABEL.fullmatch(value) or (":" in text and effect not in _EFFECTS):
        raise BadInput(f"--toleration {text[:80]!r} cannot be used", _EXAMPLES["--toleration"])
    matched = {"operator": "Equal", "value": value} if equals else {"operator": "Exists"}
    return {"key": key, **matched, **({"effect": effect} if effect else {})}
