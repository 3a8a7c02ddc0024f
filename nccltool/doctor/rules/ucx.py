"""UCX, which MPI and some plugins use alongside NCCL: transports and devices."""

import re
from collections.abc import Sequence

from nccltool.core.findings import Severity
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, listed, rule
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.interfaces import is_inside

_NETWORKS = re.compile(r"all|(rc|ud|dc)(_x|_v|_verbs|_mlx5)?|ib|tcp|srd|ugni(_\w+)?|gga(_mlx5)?")
"""Transports and aliases that leave a host: UCX documentation, ucx_info -d."""
_INSIDE = re.compile(
    r"self|sm|shm|mm|posix|sysv|xpmem|cma|knem|cuda(_copy|_ipc)?|gdr_copy|rocm(_copy|_ipc|_gdr)?|ze(_copy|_ipc)?"
    r"|gaudi_gdr|rdmacm|tcpcm|sockcm|gga|\w*_?gda"
)
"""Transports and aliases inside a host, and connection managers."""
_SHARED_MEMORY = re.compile(r"sm|shm|mm|posix|sysv|xpmem|cma|knem")
_LEVELS = (
    "fatal",
    "error",
    "warn",
    "diag",
    "info",
    "debug",
    "trace",
    "req",
    "data",
    "async",
    "func",
    "poll",
    "print",
)
_REFUSED = {
    "UCX_LOG_LEVEL": _LEVELS,
    "UCX_RNDV_SCHEME": ("auto", "get_zcopy", "put_zcopy", "get_ppln", "put_ppln", "rkey_ptr", "am", "rtr"),
}
"""What UCX accepts, in any case of letters."""
_PORT = re.compile(r"[\w.-]+:\d+", re.ASCII)
_ADAPTER = re.compile(r"mlx[45]_(\d+|bond_\d+)|bnxt_re\d+|irdma\d+")


@for_text("PLG009", "warning", "UCX_TLS", covers=())
def ucx_without_network(host: JudgedHost, variable: Variable, text: str) -> Results:
    """UCX_TLS contains no transport that connects hosts or, on one node, processes.

    Why: The list replaces all others. With transports of shared memory and GPUs alone, UCX reports "Destination is
    unreachable" or "no usable transports", and MPI does not start on several nodes. Without shared memory or a
    network, there is "no active messages transport" even on one node. Exact names such as rc_mlx5 lack the
    transport that connects them, and Open MPI with pml ucx needs one inside the host.
    Example: UCX_TLS=self,sm,cuda_copy
    Instead: UCX_TLS=self,sm,cuda_copy,rc or unset UCX_TLS
    Source: UCX documentation, FAQ, "Which transports does UCX use?"; https://github.com/openucx/ucx/issues/4742
    """
    words = _transports(text)
    if not words or text.startswith("^"):
        return
    if any(map(_NETWORKS.fullmatch, words)):
        yield from _incomplete(host, variable, words)
        return
    if host.nodes != 1:
        message = "no transport of the list connects hosts"
        yield report.better_unset(variable, message, "add rc, ud, or tcp, or unset UCX_TLS")
    elif not any(map(_SHARED_MEMORY.fullmatch, words)):
        message = "no transport of the list connects processes: GPUs and connection managers carry no messages"
        yield report.better_unset(variable, message, "add sm or tcp, or unset UCX_TLS")


_EXACT = re.compile(r"rc_(verbs|mlx5)")
_CONNECTS = re.compile(r"all|ib|tcp|srd|(rc|dc)(_x|_v)?|ud(_\w+)?(:aux)?|dc_\w+")
"""Transports and aliases that set up connections, or bring one that does: src/ucp/core/ucp_context.c."""
_ITSELF = re.compile(r"all|self|sm|shm|posix|sysv|xpmem|cma|knem|ib")


def _incomplete(host: JudgedHost, variable: Variable, words: Sequence[str]) -> Results:
    """A list with a network that lacks what the network or MPI needs beside it."""
    if any(map(_EXACT.fullmatch, words)) and not any(map(_CONNECTS.fullmatch, words)):
        message = "rc_verbs and rc_mlx5 need a transport that sets up connections, which the alias rc brings"
        yield report.better_unset(variable, message, "write rc, or add ud")
    elif host.get("OMPI_MCA_pml") == "ucx" and not any(map(_ITSELF.fullmatch, words)):
        message = "Open MPI's pml ucx needs a transport inside the host: it cannot be selected"
        yield report.better_unset(variable, message, "add self and sm")


@for_text("PLG010", "warning", "UCX_NET_DEVICES", covers=())
def odd_ucx_device(host: JudgedHost, variable: Variable, text: str) -> Results:
    """UCX_NET_DEVICES contains an adapter without its port, an address, or an interface inside the host.

    Why: UCX before 1.21 compares with names such as mlx5_0:1. If none matches, it reports that the device is not
    available, and no network is left.
    Example: UCX_NET_DEVICES=mlx5_0
    Instead: UCX_NET_DEVICES=mlx5_0:1
    Source: UCX documentation, FAQ, network devices; https://github.com/openucx/ucx/pull/11142
    """
    if re.search(r"[;\s]", text.strip()):
        message = "UCX separates names by commas only, and finds no device of this name"
        yield report.about(variable, message, "write commas between the names")
        return
    for word in values.split(text.removeprefix("^")):
        why = _odd(word)
        if why and host.nodes != 1:
            message = f"{escaped(word[:60])} {why}"
            yield report.about(variable, message, "list names as `ucx_info -d` shows them", part=word)


def _odd(word: str) -> str:
    if _ADAPTER.fullmatch(word):
        return "lacks its port, as in mlx5_0:1"
    if re.fullmatch(r"mlx\d_\w+:0", word):
        return "names port 0; ports begin with 1"
    if re.fullmatch(r"(eth|ens|eno|bond)\d+:\d+", word):
        return "is an interface, which has no port"
    if re.fullmatch(r"(\d{1,3}\.){3}\d{1,3}(/\d+)?", word):
        return "is an address; UCX expects names"
    return "exists only inside this host" if is_inside(word) else ""


@for_text("PLG011", "warning", "UCX_TLS", covers=())
def ucx_copies_through_host(host: JudgedHost, variable: Variable, text: str) -> Results:
    """UCX_TLS contains cuda_copy or rocm_copy, but not the transport between the GPUs of a host.

    Why: The list replaces all others. Data between two GPUs of a host is copied through host memory: 0.35 GB/s
    instead of 12.3 GB/s in a published comparison.
    Example: UCX_TLS=tcp,cuda_copy
    Instead: UCX_TLS=tcp,cuda_copy,cuda_ipc or unset UCX_TLS
    Source: https://github.com/rapidsai/ucx-py/issues/88; UCX documentation, FAQ, GPU support
    """
    words = {word.removeprefix("\\").partition(":")[0] for word in values.split(text)}
    for vendor in () if text.startswith("^") else ("cuda", "rocm"):
        if f"{vendor}_copy" in words and not words & {f"{vendor}_ipc", vendor, "all"} and host.local_ranks != 1:
            message = f"without {vendor}_ipc, data between the GPUs of a host is copied through host memory"
            yield report.better_set(variable, f"{text},{vendor}_ipc", message, part=f"{vendor}_copy")


@for_text("PLG017", "warning", "UCX_TLS", covers=())
def unknown_ucx_transport(_: JudgedHost, variable: Variable, text: str) -> Results:
    """UCX_TLS contains a word that is not a UCX transport.

    Why: UCX warns that the transport is not available and continues without it: data takes a slower path, or no
    transport is left.
    Example: UCX_TLS=rc,sm,cuda_copy,gdrcopy
    Instead: UCX_TLS=rc,sm,cuda_copy,gdr_copy
    Source: UCX documentation, FAQ, "Which transports does UCX use?"; ucx_info -d
    """
    for word in _transports(text):
        if not _NETWORKS.fullmatch(word) and not _INSIDE.fullmatch(word):
            message = f"UCX has no transport {escaped(word[:40])}"
            yield report.about(variable, message, "compare with `ucx_info -d`", part=word)


def _transports(text: str) -> list[str]:
    return [word.removeprefix("\\").partition(":")[0] for word in values.split(text.removeprefix("^"))]


@for_text("PLG018", "warning", "UCX_NET_DEVICES", covers=())
def ucx_devices_of_other_transports(host: JudgedHost, variable: Variable, text: str) -> Results:
    """UCX_TLS allows only TCP, but UCX_NET_DEVICES lists adapters; or only RDMA, and it lists interfaces.

    Why: TCP uses interfaces such as eth0, and RDMA uses ports such as mlx5_0:1. No transport has a device, and UCX
    reports that none is usable.
    Example: UCX_TLS=tcp and UCX_NET_DEVICES=mlx5_0:1
    Instead: UCX_TLS=rc,self,sm and UCX_NET_DEVICES=mlx5_0:1
    Source: UCX documentation, FAQ, network devices
    """
    given = host.get("UCX_TLS") or ""
    networks = [word for word in _transports(given) if _NETWORKS.fullmatch(word)]
    devices = list(values.split(text))
    if (
        not networks
        or given.startswith("^")
        or not devices
        or text.startswith("^")
        or "all" in (*networks, *devices)
    ):
        return
    ports = [_PORT.fullmatch(word) is not None for word in devices]
    if all(ports) and set(networks) == {"tcp"}:
        yield report.about(
            variable, "UCX_TLS allows only tcp, which uses no adapter", "add rc to UCX_TLS, or list interfaces"
        )
    elif not any(ports) and "tcp" not in networks and not any(map(_odd, devices)):
        yield report.about(
            variable,
            f"UCX_TLS allows only {escaped(networks[0][:20])}, which uses no interface",
            "list adapters as `ucx_info -d` shows them",
        )


@for_text("PLG019", "error", *_REFUSED, covers=())
def refused_ucx_value(_: JudgedHost, variable: Variable, text: str) -> Results:
    """UCX does not know the value.

    Why: UCX reports an invalid value and fails to initialize.
    Example: UCX_LOG_LEVEL=verbose
    Instead: UCX_LOG_LEVEL=info
    Source: openucx/ucx src/ucs/config/types.c, src/ucp/core/ucp_context.c
    """
    words = _REFUSED[variable.name]
    if text.strip().lower() not in words:
        yield report.better_unset(variable, f"UCX fails: it expects one of {', '.join(words)}")


_NIXL = ("NIXL_", "VLLM_NIXL_", "SGLANG_DISAGGREGATION_NIXL_", "TRTLLM_USE_NIXL_")
_OF_GPUS = re.compile(r"all|(cuda|rocm|ze)(_copy)?")


@for_text("PLG034", "warning", "UCX_PROTO_ENABLE", "UCX_TLS", covers=())
def ucx_unfit_for_nixl(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The job moves GPU memory with NIXL, but UCX may not use its new protocols or a GPU transport.

    Why: NIXL needs the protocols that UCX_PROTO_ENABLE=n switches off. Without cuda_copy or rocm_copy, UCX
    mistakes GPU memory for host memory, and a serving engine cannot register its cache.
    Example: UCX_TLS=rc with VLLM_NIXL_SIDE_CHANNEL_HOST
    Instead: UCX_TLS=rc,cuda_copy,cuda_ipc, or unset UCX_TLS
    Source: UCX documentation, FAQ, GPU support; https://github.com/vllm-project/vllm/pull/32379;
    https://github.com/NVIDIA/TensorRT-LLM/issues/18373
    """
    if not any(host.settings.beginning(*_NIXL)):
        return
    if variable.name == "UCX_PROTO_ENABLE":
        if text.strip().lower() in ("n", "no", "0", "off"):
            yield report.better_unset(variable, "NIXL needs the protocols that this switches off")
    elif not text.startswith("^") and not any(map(_OF_GPUS.fullmatch, _transports(text))):
        message = "the list leaves out cuda_copy or rocm_copy: NIXL cannot register GPU memory"
        yield report.about(variable, message, "add cuda_copy and cuda_ipc, or rocm_copy and rocm_ipc")


_BRIDGES = ("docker", "br-", "virbr", "cni", "podman", "lxc", "weave")
"""Beginnings of names of bridges, which UCX leaves out since 1.16."""
_ENDS = ("veth", "flannel", "cilium", "cali", "vxlan", "tmfifo_net")
"""Of what else leads to containers or to a DPU of one host."""


@rule("PLG038", "warning", covers=(), needs=("network",))
def ucx_over_bridges(host: JudgedHost) -> Results:
    """UCX may use TCP over interfaces that lead only to containers or to a DPU.

    Why: UCX may use any interface that is up. Every host has addresses such as 172.17.0.1, so connections reach
    the wrong host or are refused. Since 1.16, UCX leaves out bridges such as docker0, so these alone are only a
    hint.
    Example: UCX_TLS=tcp,cuda_copy and UCX_NET_DEVICES=all
    Instead: UCX_NET_DEVICES=eth0
    Source: https://docs.nvidia.com/doca/archive/3-0-0/DOCA+UCX; UCX, NEWS, 1.16.0;
    https://github.com/openucx/ucx/issues/9383; https://github.com/openucx/ucx/issues/9908
    """
    transports, devices = host.variable("UCX_TLS"), host.variable("UCX_NET_DEVICES")
    words = _transports(transports.value) if transports and not transports.value.startswith("^") else []
    wanted = devices.value.strip() if devices else "all"
    if "tcp" not in words or wanted != "all" or host.nodes == 1:
        return
    addresses = host.facts.network.addresses
    variable = devices or transports
    if variable is None or (isinstance(addresses, Unknown) and devices is None):
        return
    inner = () if isinstance(addresses, Unknown) else {one.interface for one in addresses}
    found = sorted(name for name in inner if name.startswith((*_ENDS, *_BRIDGES)))
    if found or isinstance(addresses, Unknown):
        what = listed(found, 3) if found else "interfaces of containers"
        message = f"TCP may also use {what}, over which no other host can be reached"
        severity: Severity | None = "info" if found and all(one.startswith(_BRIDGES) for one in found) else None
        remedy = "export UCX_NET_DEVICES=<interface between the nodes>"
        yield report.about(variable, message, remedy, severity=severity)
