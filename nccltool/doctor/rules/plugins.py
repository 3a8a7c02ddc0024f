"""Plugins and networks named in the environment, and the NCCL libraries that the loader finds."""

from collections.abc import Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, by_value, for_text, for_value, rule
from nccltool.hosts.facts import Library, known
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable

_BUILT_IN = ("ib", "socket")
_KINDS = {"NCCL_TUNER_PLUGIN": "tuner", "NCCL_PROFILER_PLUGIN": "profiler"}
_KNOWN_NETWORKS = (
    *("aws libfabric", "libfabric", "ofi", "fastrak", "gib", "spectrum-x", "spcx", "ucx", "ucx-uct", "sharp"),
    *("ibext", "gpudirecttcpx", "fastsocket", "slingshot"),
)
"""How networks of plugins begin to be called; versions follow, as in IBext_v8 and GPUDirectTCPX_v7."""


def _file_names(kind: str, word: str) -> tuple[str, ...]:
    """The files that NCCL or RCCL tries for a plugin that is named so (src/plugin/plugin_open.cc)."""
    if "/" in word or (word.startswith("lib") and word.endswith(".so")):
        return (word.rpartition("/")[2],)
    return (word, f"libnccl-{kind}-{word}.so", f"librccl-{kind}-{word}.so")


def _found(host: JudgedHost, kind: str, word: str) -> bool:
    """Whether a plugin can be loaded. Raises NotKnown when they were not looked for."""
    names = _file_names(kind, word)
    return any(plugin.name in names for plugin in known(host.facts.plugins))


def _named(text: str) -> list[str]:
    return [word for word in values.split(text) if word.lower() not in ("none", "static_plugin")]


@for_text("PLG001", "warning", "NCCL_NET_PLUGIN", needs=("plugins",))
def net_plugin_missing(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_PLUGIN names a plugin that the loader does not find.

    Why: NCCL reports this only at level INFO and uses its built-in network.
    Example: NCCL_NET_PLUGIN=ofi without libnccl-net-ofi.so
    Instead: add the plugin's directory to LD_LIBRARY_PATH and set NCCL_NET so that a missing plugin is an error
    Source: NCCL user guide, NCCL_NET_PLUGIN; src/plugin/plugin_open.cc
    """
    for word in _named(text):
        if not _found(host, "net", word):
            message = f"the loader finds no net plugin {escaped(word[:80])}"
            remedy = "add its directory to LD_LIBRARY_PATH or unset NCCL_NET_PLUGIN"
            lines = (f"looked for {escaped(' and '.join(_file_names('net', word))[:200])}",)
            yield report.better_unset(variable, message, remedy, part=word, evidence=lines)


_OF_CLOUDS = (
    *("/opt/amazon/", "/opt/aws-ofi-nccl/", "/usr/local/gib/", "/usr/local/nvidia/", "/usr/local/fastrak/"),
    *("/usr/local/tcpx/", "/var/lib/tcpxo/"),
)
"""Where AWS and Google put the plugins without which their networks cannot be used."""


@rule("PLG002", "info", needs=("plugins", "cloud"))
def net_plugin_by_accident(host: JudgedHost) -> Results:
    """NCCL loads a libnccl-net.so that no setting names.

    Why: The plugin is on the loader's path, as in images with HPC-X or OFI, and replaces the built-in network. On
    AWS and Google machines, the provider's own plugin is expected.
    Example: /opt/hpcx/nccl_rdma_sharp_plugin/lib in LD_LIBRARY_PATH
    Instead: set NCCL_NET_PLUGIN to none for the built-in network or to the plugin's name
    Source: NCCL user guide, NCCL_NET_PLUGIN
    """
    if host.variable("NCCL_NET_PLUGIN") is not None:
        return
    found = next((one.library for one in known(host.facts.plugins) if one.name == "libnccl-net.so"), None)
    on_purpose = host.facts.cloud.provider in ("aws", "gcp") and found and found.path.startswith(_OF_CLOUDS)
    if found and found.origin != "vendor" and not on_purpose:
        message = "NCCL loads this net plugin because it is on the loader's path"
        remedy = "for the built-in network: export NCCL_NET_PLUGIN=none"
        lines = (f"{escaped(found.path)} ({found.origin})",)
        fix = report.export("NCCL_NET_PLUGIN", "none")
        yield report.file(found.path, message, remedy, evidence=lines, fix=fix)


@for_text("PLG003", "error", "NCCL_NET", needs=("plugins",))
def unknown_network(host: JudgedHost, variable: Variable, name: str) -> Results:
    """NCCL_NET does not name a network of NCCL or of a known plugin.

    Why: The value must be the name of a network, in upper or lower case; otherwise initialization fails.
    Example: NCCL_NET=InfiniBand
    Instead: NCCL_NET=IB
    Source: NCCL user guide, NCCL_NET; "Using network" lines in logs
    """
    if name.lower() in _BUILT_IN or name.lower().startswith(_KNOWN_NETWORKS):
        return
    if isinstance(host.facts.plugins, Unknown) and (host.get("NCCL_NET_PLUGIN") or "none").lower() == "none":
        lines = ("built in: IB, Socket; known plugins: AWS Libfabric, gIB, FasTrak, IBext, UCX",)
        message = "no network of NCCL or of a known plugin has this name"
        yield report.better_unset(variable, message, "unset NCCL_NET", evidence=lines, severity="warning")
    if any("net" in plugin.name for plugin in known(host.facts.plugins)):
        yield Unknown(f"unknown whether the installed plugin's network is named {name[:60]!r}")
        return
    message = "no network has this name: initialization fails"
    lines = ("built in: IB, Socket; no net plugin on the loader's path",)
    yield report.better_unset(variable, message, "use IB or Socket or unset NCCL_NET", evidence=lines)


@for_text("PLG004", "error", "NCCL_NET")
def network_without_plugin(host: JudgedHost, variable: Variable, name: str) -> Results:
    """NCCL_NET names a plugin's network, but NCCL_NET_PLUGIN=none disables plugins.

    Why: NCCL cannot load the only allowed network.
    Example: NCCL_NET="AWS Libfabric" and NCCL_NET_PLUGIN=none
    Instead: set only one of the two variables
    Source: NCCL user guide, NCCL_NET and NCCL_NET_PLUGIN
    """
    if (host.get("NCCL_NET_PLUGIN") or "").lower() == "none" and name.lower() not in _BUILT_IN:
        message = f"{escaped(name[:60])} needs a plugin, which NCCL_NET_PLUGIN=none disables"
        yield report.better_unset(variable, message, "unset NCCL_NET_PLUGIN or use a built-in network", part="")


@for_text("PLG005", "warning", *_KINDS, needs=("plugins",))
def tuner_or_profiler_missing(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A setting names a tuner or profiler plugin that the loader does not find.

    Why: NCCL reports this only at level INFO and runs without tuning or profiling.
    Example: NCCL_TUNER_PLUGIN=libnccl-tuner.so without that file
    Instead: add the plugin's directory to LD_LIBRARY_PATH
    Source: NCCL user guide, NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN
    """
    kind = _KINDS[variable.name]
    for word in _named(text):
        if not _found(host, kind, word) and not _found(host, "net", word):
            message = f"the loader finds no {kind} plugin {escaped(word[:80])}"
            remedy = f"add its directory to LD_LIBRARY_PATH or unset {variable.name}"
            yield report.better_unset(variable, message, remedy, part=word)


@rule("PLG006", "info", needs=("versions",))
def several_nccl_libraries(host: JudgedHost) -> Results:
    """The loader can find more than one version of libnccl.

    Why: The import order decides which version is loaded. Ranks with different versions cannot work together. A
    release that LD_PRELOAD or LD_LIBRARY_PATH puts before the one of torch's wheel may lack functions that torch
    calls.
    Example: a system libnccl.so.2 and the one from torch's wheel
    Instead: keep only one version
    Source: NCCL src/init.cc (version mismatch)
    """
    libraries = known(host.facts.versions.libnccl)
    told = [one for one in libraries if not isinstance(one.version, Unknown)]
    versions = sorted({str(one.version) for one in told})
    if len(versions) > 1:
        message = f"{len(versions)} NCCL versions can be loaded: {', '.join(versions)}"
        remedy = "keep only one; torch.cuda.nccl.version() shows the one torch uses"
        lines = tuple(f"{one.version} {escaped(one.path)} ({one.origin})" for one in told)
        severity: Severity | None = "warning" if _overrides_wheel(told) else None
        yield report.host("libnccl.so.2", message, remedy, evidence=lines, severity=severity)
    for one in libraries if len(libraries) > 1 else ():
        if isinstance(one.version, Unknown):
            yield Unknown(f"version of {one.path} unknown: {one.version.reason}")


def _overrides_wheel(libraries: Sequence[Library]) -> bool:
    """LD_PRELOAD or LD_LIBRARY_PATH puts another release before the one that torch was built for."""
    wheel = {str(one.version) for one in libraries if one.origin == "wheel"}
    forced = {str(one.version) for one in libraries if one.origin in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    return bool(wheel and forced - wheel)


@across("PLG007", "error", needs=("versions",))
def different_nccl_versions(hosts: Sequence[JudgedHost]) -> Results:
    """Ranks have different NCCL versions.

    Why: Initialization fails.
    Example: two images in one job
    Instead: use the same image on all hosts
    Source: NCCL src/init.cc
    """
    versions = yield from by_value(hosts, lambda host: host.nccl)
    if len(versions) > 1:
        ordered = sorted(versions.items(), key=lambda item: len(item[1]))
        named = [(version, list(dict.fromkeys(host.name for host in some))[:6]) for version, some in ordered]
        fewest = named[0][1]
        remedy = f"use the other hosts' image on {', '.join(fewest)}"
        lines = tuple(f"{version}: {', '.join(names)}" for version, names in named[:8])
        yield report.host(fewest[0], f"ranks have {len(versions)} different NCCL versions", remedy, evidence=lines)


@for_value("PLG008", "info", "UCX_TLS", "UCX_NET_DEVICES")
def ucx_is_not_nccl(host: JudgedHost, variable: Variable, _: str) -> Results:
    """UCX_TLS or UCX_NET_DEVICES is set.

    Why: These variables configure MPI. NCCL uses UCX only through a plugin with NCCL_PLUGIN_P2P=ucx.
    Example: UCX_NET_DEVICES=mlx5_0:1
    Instead: set NCCL_IB_HCA=mlx5_0:1 to configure NCCL
    Source: nccl-rdma-sharp-plugins
    """
    if not (host.get("NCCL_PLUGIN_P2P") or "").startswith("ucx"):
        remedy = "for NCCL set NCCL_IB_HCA or NCCL_NET; for MPI no action needed"
        yield report.about(variable, f"NCCL does not read {variable.name}; MPI does", remedy, part="")
