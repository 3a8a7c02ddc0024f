"""Google Cloud: A3 Mega (TCPXO), A3 Ultra and A4 (gIB)."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule

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


def _is_gcp(host: JudgedHost) -> bool:
    return known(host.facts.cloud.provider) == "gcp"


@rule("GCP001", "error", needs=("cloud", "network", "files"))
def fastrak_without_interfaces(host: JudgedHost) -> Results:
    """An A3 Mega has the TCPXO plugin, and is not told which interfaces to use.

    Why: The plugin needs both NCCL_FASTRAK_CTRL_DEV and NCCL_FASTRAK_IFNAME.
    Example: NCCL_FASTRAK_IFNAME is not set
    Instead: source ${NCCL_LIB_DIR}/nccl-env-profile.sh, in the container
    Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/README.md
    """
    missing = [name for name in ("NCCL_FASTRAK_CTRL_DEV", "NCCL_FASTRAK_IFNAME") if not host.get(name)]
    if not missing or not _is_gcp(host):
        return
    nics = [one.name for one in known(host.facts.network.interfaces) if one.driver in ("gve", "idpf")]
    if len(nics) <= _DATA_NICS:
        return
    files = [file for path in _LIBRARIES if (file := host.facts.file(path)) is not None]
    there = [file.path for file in files if known(file.exists)]
    if there:
        yield report.variable(
            missing[0],
            f"the TCPXO plugin is here, and {' and '.join(missing)} not set",
            "source ${NCCL_LIB_DIR}/nccl-env-profile.sh",
            evidence=(f"{there[0]}; {len(nics)} interfaces of Google",),
        )


@rule("GCP002", "warning")
def other_than_the_profile(host: JudgedHost) -> Results:
    """The TCPXO plugin is in use, and a variable is not what Google's profile says.

    Why: A checker in the plugin compares them: it warns, or refuses; NCCL_NVLSTREE_MAX_CHUNKSIZE is enforced.
    Example: NCCL_BUFFSIZE=4194304 on A3 Mega
    Instead: source ${NCCL_LIB_DIR}/nccl-env-profile.sh last
    Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/README.md
    """
    if not (host.get("NCCL_FASTRAK_IFNAME") or host.get("NCCL_FASTRAK_CTRL_DEV")):
        return
    for name, values in _PROFILE.items():
        variable = host.variable(name)
        if variable and variable.value not in values:
            yield report.better_unset(
                variable,
                f"Google's profile has {name}={values[0]}",
                "source ${NCCL_LIB_DIR}/nccl-env-profile.sh, after everything else",
            )


@rule("GCP003", "warning", needs=("files",))
def gib_without_profile(host: JudgedHost) -> Results:
    """gIB is installed, and its settings are not in use.

    Why: Traffic class, GID index and tuner belong to the network of A3 Ultra and A4. Without a single variable of
    NCCL this is taken for a shell, not for a job.
    Example: NCCL_NET is not gIB, or nothing names /usr/local/gib
    Instead: source /usr/local/gib/scripts/set_nccl_env.sh
    Source: AI-Hypercomputer/gpu-recipes; GoogleCloudPlatform/cluster-toolkit
    """
    if (host.get("NCCL_ENV_PLUGIN") or "").lower() == "gcp":
        return
    folder = host.facts.file(_GIB)
    if folder is None or not known(folder.exists):
        return
    paths = [host.get(name) or "" for name in ("NCCL_CONF_FILE", "NCCL_TUNER_CONFIG_PATH")]
    named = any(path.startswith(_GIB) for path in paths)
    net = host.get("NCCL_NET") or ""
    if named and (net.lower() == "gib" or paths[0].startswith(_GIB)):
        return
    bare = next(host.settings.beginning("NCCL_"), None) is None
    yield report.variable(
        "NCCL_NET",
        "gIB is installed, and the job does not use its settings",
        f"source {_GIB}/scripts/set_nccl_env.sh",
        evidence=(f"NCCL_NET={escaped(net[:40])}" if net else "NCCL_NET is not set", f"{_GIB} is there"),
        severity="info" if bare else None,
    )
