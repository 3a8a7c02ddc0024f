"""Google Cloud: A3 High (TCPX), A3 Mega (TCPXO), A3 Ultra, and A4 (gIB)."""

import re
from collections.abc import Mapping

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, for_value, known, rule
from nccltool.hosts.facts import numbers
from nccltool.hosts.nccl import values

_DATA_NICS = 8
"""Of A3 Mega, beside the one for everything else; A3 High has four."""
_LIBRARIES = ("/usr/local/nvidia/lib64/libnccl-net.so", "/var/lib/tcpxo/lib64")
_GIB = "/usr/local/gib"
_PROFILE = {
    "NCCL_CROSS_NIC": ("0",),
    "NCCL_PROTO": ("Simple,LL128", "Simple"),
    "NCCL_BUFFSIZE": ("8388608",),
    "NCCL_P2P_NET_CHUNKSIZE": ("524288",),
    "NCCL_P2P_PCI_CHUNKSIZE": ("524288",),
    "NCCL_P2P_NVL_CHUNKSIZE": ("1048576",),
    "NCCL_NVLSTREE_MAX_CHUNKSIZE": ("131072",),
    "NCCL_NET_GDR_LEVEL": ("PIX",),
    "NCCL_FASTRAK_NUM_FLOWS": ("2",),
    "NCCL_FASTRAK_USE_SNAP": ("1",),
    "NCCL_FASTRAK_USE_LLCM": ("1",),
    "NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL": ("0",),
    "NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING": ("0",),
    "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS": ("600000",),
}
"""A3 Mega: GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/README.md, June 2026."""


@rule("GCP001", "warning", needs=("cloud", "network", "files"))
def fastrak_without_interfaces(host: JudgedHost) -> Results:
    """An A3 Mega VM has the TCPXO plugin, but no setting names the interfaces it uses.

    Why: The plugin needs both NCCL_FASTRAK_CTRL_DEV and NCCL_FASTRAK_IFNAME.
    Example: NCCL_FASTRAK_IFNAME is not set
    Instead: source ${NCCL_LIB_DIR}/nccl-env-profile.sh in the container
    Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/README.md
    """
    missing = [name for name in ("NCCL_FASTRAK_CTRL_DEV", "NCCL_FASTRAK_IFNAME") if not host.get(name)]
    if not missing or known(host.facts.cloud.provider) != "gcp":
        return
    nics = [one.name for one in known(host.facts.network.interfaces) if one.driver in ("gve", "idpf")]
    files = [file for path in _LIBRARIES if (file := host.facts.file(path))] if len(nics) > _DATA_NICS else []
    there = [file.path for file in files if known(file.exists)]
    if there:
        message = f"the TCPXO plugin is installed, but needs {' and '.join(missing)}"
        lines = (f"{there[0]}; {len(nics)} Google interfaces",)
        severity: Severity | None = None if any(host.settings.beginning("NCCL_")) else "info"  # of a shell, no job
        remedy = "source ${NCCL_LIB_DIR}/nccl-env-profile.sh"
        yield report.variable(missing[0], message, remedy, evidence=lines, severity=severity)


@for_value("GCP002", "info", *_PROFILE)
def other_than_the_profile(host: JudgedHost, variable: Variable, value: str) -> Results:
    """The TCPXO plugin is in use, and a variable differs from Google's profile.

    Why: If a variable differs, the plugin warns or refuses to start; it enforces NCCL_NVLSTREE_MAX_CHUNKSIZE.
    Example: NCCL_BUFFSIZE=4194304 on A3 Mega
    Instead: source ${NCCL_LIB_DIR}/nccl-env-profile.sh after all other settings
    Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/README.md
    """
    in_use = host.get("NCCL_FASTRAK_IFNAME") or host.get("NCCL_FASTRAK_CTRL_DEV")
    published = _PROFILE[variable.name]
    if in_use and value not in published:
        message = f"Google's profile sets {variable.name}={published[0]}"
        remedy = "source ${NCCL_LIB_DIR}/nccl-env-profile.sh after all other settings"
        enforced: Severity | None = "warning" if variable.name == "NCCL_NVLSTREE_MAX_CHUNKSIZE" else None
        yield report.better_unset(variable, message, remedy, severity=enforced)


@rule("GCP003", "warning", needs=("files",))
def gib_without_profile(host: JudgedHost) -> Results:
    """gIB is installed, but the job does not use its settings.

    Why: The A3 Ultra and A4 network needs gIB's traffic class, GID index, and tuner. The rule skips an environment
    without NCCL variables, which belongs to a shell rather than a job.
    Example: NCCL_NET is not gIB, or no variable names /usr/local/gib
    Instead: source /usr/local/gib/scripts/set_nccl_env.sh
    Source: AI-Hypercomputer/gpu-recipes; GoogleCloudPlatform/cluster-toolkit
    """
    if (host.get("NCCL_ENV_PLUGIN") or "").lower() == "gcp":
        return
    folder = host.facts.file(_GIB)
    if folder is None or not known(folder.exists):
        return
    conf, tuner, net = (host.get(f"NCCL_{name}") or "" for name in ("CONF_FILE", "TUNER_CONFIG_PATH", "NET"))
    if conf.startswith(_GIB) or (tuner.startswith(_GIB) and net.lower() == "gib"):
        return
    yield report.variable(
        "NCCL_NET",
        "gIB is installed, but the job does not use its settings",
        f"source {_GIB}/scripts/set_nccl_env.sh",
        evidence=(f"NCCL_NET={escaped(net[:40])}" if net else "NCCL_NET is not set", f"{_GIB} exists"),
        severity=None if any(host.settings.beginning("NCCL_")) else "info",
    )


_TX, _RX = "NCCL_GPUDIRECTTCPX_TX_BINDINGS", "NCCL_GPUDIRECTTCPX_RX_BINDINGS"
_BINDING = re.compile(r"([\w.]+):(\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*)", re.ASCII)


@for_text("GCP004", "info", _RX, covers=())
def threads_share_processors(host: JudgedHost, variable: Variable, text: str) -> Results:
    """TCPX binds the threads that receive to processors of those that send.

    Why: Both compete for these processors, and the bandwidth may fall. Google published such bindings until 2026.
    Example: NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21 and NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:20-35
    Instead: use the bindings of Google's documentation
    Source: https://github.com/GoogleCloudPlatform/container-engine-accelerators/pull/570
    """
    sending = _bindings(host.get(_TX) or "")
    for name, cpus in _bindings(text).items():
        if both := sorted(cpus & sending.get(name, frozenset())):
            message = f"processor {both[0]} sends and receives for {escaped(name)}"
            yield report.about(variable, message, "use the bindings of Google's documentation", part=name)
            return


def _bindings(text: str) -> Mapping[str, frozenset[int]]:
    """The processors of each interface."""
    found = (_BINDING.fullmatch(part.strip()) for part in text.split(";"))
    return {match[1]: numbers(match[2]) for match in found if match}


@for_text(
    *("GCP005", "error", "NCCL_FASTRAK_IFNAME", "NCCL_FASTRAK_CTRL_DEV"),
    *("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "NCCL_GPUDIRECTTCPX_CTRL_DEV"),
    covers=(),
    needs=("network",),
)
def no_interface_for_plugin(host: JudgedHost, variable: Variable, text: str) -> Results:
    """Google's plugin is told to use an interface that this host does not have.

    Why: The plugin does not start. VM images and GKE name the interfaces in different ways, and some clusters
    count them from eth0.
    Example: NCCL_FASTRAK_IFNAME=eth1,eth2 on a host with enp6s0 and enp12s0
    Instead: source ${NCCL_LIB_DIR}/nccl-env-profile.sh in the container
    Source: https://github.com/NVIDIA/aicr/pull/422
    """
    there = {one.name for one in known(host.facts.network.interfaces)}
    missing = next((word for word in values.split(text) if word not in there), None)
    if missing:
        message = f"this host has no interface {escaped(missing[:40])}"
        yield report.about(variable, message, "compare with `ip -br link`", part=missing)


_DATA_AND_CONTROL = {
    "NCCL_FASTRAK_IFNAME": "NCCL_FASTRAK_CTRL_DEV",
    "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME": "NCCL_GPUDIRECTTCPX_CTRL_DEV",
}


@for_text("GCP006", "warning", *_DATA_AND_CONTROL, covers=())
def control_among_data(host: JudgedHost, variable: Variable, text: str) -> Results:
    """Google's plugin uses one interface for data and for control.

    Why: The interface for control is that of the VM's first network, which has no GPU close to it. The data of
    some GPUs then shares it, or the plugin does not find its receiver there.
    Example: NCCL_FASTRAK_CTRL_DEV=eth0 and NCCL_FASTRAK_IFNAME=eth0,eth1,eth2
    Instead: NCCL_FASTRAK_IFNAME=eth1,eth2
    Source: Google Cloud documentation, maximize GPU network bandwidth, NCCL settings of A3 High and A3 Mega
    """
    control = host.get(_DATA_AND_CONTROL[variable.name]) or ""
    words = list(values.split(text))
    if control and control in words and len(words) > 1:
        kept = ",".join(word for word in words if word != control)
        yield report.better_set(
            variable, kept, f"{escaped(control[:40])} is the interface for control", part=control
        )
