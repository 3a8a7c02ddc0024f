"""Plugins and networks that are named in the environment, and the libraries of NCCL that can be reached."""

from collections.abc import Sequence

from nccltool.core.text import escaped
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, by_value, for_text, for_value, rule
from nccltool.hosts.facts import known
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
    """The files that NCCL tries for a plugin that is named so (src/plugin/plugin_open.cc)."""
    if "/" in word or (word.startswith("lib") and word.endswith(".so")):
        return (word.rpartition("/")[2],)
    return (word, f"libnccl-{kind}-{word}.so")


def _found(host: JudgedHost, kind: str, word: str) -> bool:
    """Whether a plugin can be loaded. Raises NotKnown when they were not looked for."""
    names = _file_names(kind, word)
    return any(plugin.name in names for plugin in known(host.facts.plugins))


def _named(text: str) -> list[str]:
    return [word for word in values.split(text) if word.lower() not in ("none", "static_plugin")]


@for_text("PLG001", "error", "NCCL_NET_PLUGIN", needs=("plugins",))
def net_plugin_missing(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_PLUGIN names a plugin that the loader does not find.

    Why: NCCL says so at the level INFO only, and takes its own network.
    Example: NCCL_NET_PLUGIN=ofi without libnccl-net-ofi.so
    Instead: the folder of the plugin in LD_LIBRARY_PATH; and NCCL_NET, so that its absence is an error
    Source: NCCL user guide, NCCL_NET_PLUGIN; src/plugin/plugin_open.cc
    """
    for word in _named(text):
        if not _found(host, "net", word):
            message = f"the loader finds no net plugin {escaped(word[:80])}"
            remedy = "add its folder to LD_LIBRARY_PATH, or unset NCCL_NET_PLUGIN"
            lines = (f"looked for {escaped(' and '.join(_file_names('net', word))[:200])}",)
            yield report.better_unset(variable, message, remedy, part=word, evidence=lines)


_OF_CLOUDS = (
    *("/opt/amazon/", "/opt/aws-ofi-nccl/", "/usr/local/gib/", "/usr/local/nvidia/", "/usr/local/fastrak/"),
    *("/usr/local/tcpx/", "/var/lib/tcpxo/"),
)
"""Where AWS and Google put the plugins without which their networks cannot be used."""


@rule("PLG002", "info", needs=("plugins", "cloud"))
def net_plugin_by_accident(host: JudgedHost) -> Results:
    """NCCL loads a libnccl-net.so that nobody named.

    Why: It is on the loader's path, as in images with HPC-X or OFI. It takes the place of the built-in network. On
    machines of AWS and Google, the provider's own plugin belongs there.
    Example: /opt/hpcx/nccl_rdma_sharp_plugin/lib in LD_LIBRARY_PATH
    Instead: NCCL_NET_PLUGIN=none for the built-in one, or its name
    Source: NCCL user guide, NCCL_NET_PLUGIN
    """
    if host.variable("NCCL_NET_PLUGIN") is not None:
        return
    found = next((one.library for one in known(host.facts.plugins) if one.name == "libnccl-net.so"), None)
    on_purpose = host.facts.cloud.provider in ("aws", "gcp") and found and found.path.startswith(_OF_CLOUDS)
    if found and found.origin != "vendor" and not on_purpose:
        message = "NCCL loads this net plugin, because it is on the loader's path"
        remedy = "if that is not wanted: export NCCL_NET_PLUGIN=none"
        lines = (f"{escaped(found.path)} ({found.origin})",)
        fix = report.export("NCCL_NET_PLUGIN", "none")
        yield report.file(found.path, message, remedy, evidence=lines, fix=fix)


@for_text("PLG003", "error", "NCCL_NET", needs=("plugins",))
def unknown_network(host: JudgedHost, variable: Variable, name: str) -> Results:
    """NCCL_NET is no network that NCCL or a known plugin has.

    Why: The name must be that of a network, in any case of letters; otherwise initialization fails.
    Example: NCCL_NET=InfiniBand
    Instead: NCCL_NET=IB
    Source: NCCL user guide, NCCL_NET; lines "Using network" of logs
    """
    if name.lower() in _BUILT_IN or name.lower().startswith(_KNOWN_NETWORKS):
        return
    if any("net" in plugin.name for plugin in known(host.facts.plugins)):
        yield Unknown(f"a plugin is there; whether its network is called {escaped(name[:60])!r} is not known")
        return
    message = "no network is called so: initialization fails"
    lines = ("built in: IB, Socket; there is no net plugin on the loader's path",)
    yield report.better_unset(variable, message, "use IB or Socket, or unset NCCL_NET", evidence=lines)


@for_text("PLG004", "error", "NCCL_NET")
def network_without_plugin(host: JudgedHost, variable: Variable, name: str) -> Results:
    """NCCL_NET names the network of a plugin, and NCCL_NET_PLUGIN=none switches plugins off.

    Why: The only network that is allowed cannot be loaded.
    Example: NCCL_NET="AWS Libfabric" and NCCL_NET_PLUGIN=none
    Instead: one of the two
    Source: NCCL user guide, NCCL_NET and NCCL_NET_PLUGIN
    """
    if (host.get("NCCL_NET_PLUGIN") or "").lower() == "none" and name.lower() not in _BUILT_IN:
        message = f"{escaped(name[:60])} needs a plugin, and NCCL_NET_PLUGIN=none forbids it"
        yield report.better_unset(variable, message, "unset NCCL_NET_PLUGIN, or use a built-in network", part="")


@for_text("PLG005", "warning", *_KINDS, needs=("plugins",))
def tuner_or_profiler_missing(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A tuner or profiler plugin is named that the loader does not find.

    Why: NCCL says so at the level INFO only; nothing is tuned or profiled.
    Example: NCCL_TUNER_PLUGIN=libnccl-tuner.so without that file
    Instead: the folder of the plugin in LD_LIBRARY_PATH
    Source: NCCL user guide, NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN
    """
    kind = _KINDS[variable.name]
    for word in _named(text):
        if not _found(host, kind, word) and not _found(host, "net", word):
            message = f"the loader finds no {kind} plugin {escaped(word[:80])}"
            remedy = f"add its folder to LD_LIBRARY_PATH, or unset {variable.name}"
            yield report.better_unset(variable, message, remedy, part=word)


@rule("PLG006", "warning", needs=("versions",))
def several_nccl_libraries(host: JudgedHost) -> Results:
    """More than one version of libnccl can be loaded here.

    Why: Which one is loaded depends on what is imported first. Ranks with different versions cannot work together.
    Example: libnccl.so.2 of the system, and the wheel of torch
    Instead: one of them
    Source: NCCL src/init.cc (version mismatch)
    """
    libraries = known(host.facts.versions.libnccl)
    told = [one for one in libraries if not isinstance(one.version, Unknown)]
    versions = sorted({str(one.version) for one in told})
    if len(versions) > 1:
        message = f"{len(versions)} versions of NCCL can be loaded: {', '.join(versions)}"
        remedy = "keep one; torch.cuda.nccl.version() says which one torch takes"
        lines = tuple(f"{one.version} {escaped(one.path)} ({one.origin})" for one in told)
        yield report.host("libnccl.so.2", message, remedy, evidence=lines)
    for one in libraries if len(libraries) > 1 else ():
        if isinstance(one.version, Unknown):
            yield Unknown(f"the version of {one.path} is not known: {one.version.reason}")


@across("PLG007", "error", needs=("versions",))
def different_nccl_versions(hosts: Sequence[JudgedHost]) -> Results:
    """Ranks have different versions of NCCL.

    Why: Initialization ends with an error.
    Example: two images in one job
    Instead: the same image everywhere
    Source: NCCL src/init.cc
    """
    versions = yield from by_value(hosts, lambda host: host.nccl)
    if len(versions) > 1:
        ordered = sorted(versions.items(), key=lambda item: len(item[1]))
        named = [(version, list(dict.fromkeys(host.name for host in some))[:6]) for version, some in ordered]
        fewest = named[0][1]
        remedy = f"use the image of the others on {', '.join(fewest)}"
        lines = tuple(f"{version}: {', '.join(names)}" for version, names in named[:8])
        yield report.host(fewest[0], f"the ranks have {len(versions)} versions of NCCL", remedy, evidence=lines)


@for_value("PLG008", "info", "UCX_TLS", "UCX_NET_DEVICES")
def ucx_is_not_nccl(host: JudgedHost, variable: Variable, _: str) -> Results:
    """UCX_TLS or UCX_NET_DEVICES is set.

    Why: They are for MPI. NCCL uses UCX only where a plugin is told to, with NCCL_PLUGIN_P2P=ucx.
    Example: UCX_NET_DEVICES=mlx5_0:1
    Instead: NCCL_IB_HCA=mlx5_0:1, if NCCL is meant
    Source: nccl-rdma-sharp-plugins
    """
    if not (host.get("NCCL_PLUGIN_P2P") or "").startswith("ucx"):
        remedy = "nothing, if MPI is meant; for NCCL: NCCL_IB_HCA, NCCL_NET"
        yield report.about(variable, f"NCCL does not read {variable.name}; MPI does", remedy, part="")
