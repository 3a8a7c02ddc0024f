"""Plugins that are named by a path or too old for NCCL."""

import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, known, rule
from nccltool.hosts.nccl import values

_PLUGINS = tuple(f"NCCL_{name}_PLUGIN" for name in ("NET", "TUNER", "PROFILER", "ENV"))
_OLDEST_API = 6


@for_text("PLG024", "warning", *_PLUGINS, covers=())
def relative_plugin_path(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A plugin is named by a relative path.

    Why: It is looked up in the working directory of each rank. NCCL 2.27 mistakes it for a suffix of a name and
    finds nothing; NCCL then continues without the plugin.
    Example: NCCL_PROFILER_PLUGIN=./libprofiler.so
    Instead: NCCL_PROFILER_PLUGIN=/opt/nccl/libprofiler.so
    Source: https://github.com/NVIDIA/nccl/issues/1732; NCCL src/plugin/plugin_open.cc
    """
    for word in values.split(text):
        if "/" in word and not word.startswith(("/", "~", "$")):
            message = "a relative path depends on the working directory of each rank"
            yield report.about(variable, message, "write the whole path", part=word)


@rule("PLG032", "warning", covers=(), needs=("plugins",), library="NCCL")
def plugin_of_an_old_api(host: JudgedHost) -> Results:
    """The network plugin offers only versions of the interface that this NCCL no longer loads.

    Why: NCCL 2.27 and newer load version 6 or later. They skip an older plugin and use their own network: TCP on
    EFA or Slingshot.
    Example: aws-ofi-nccl 1.5 with NCCL 2.27.7
    Instead: install a plugin that was built for this release of NCCL
    Source: NCCL src/plugin/net/ (net_v6.cc and later)
    """
    for plugin in host.net_plugins:
        found = [re.fullmatch(r"ncclNetPlugin_v(\d{1,3})", name) for name in known(plugin.symbols)]
        offered = [int(one[1]) for one in found if one]
        if offered and max(offered) < _OLDEST_API and host.nccl_is(since=(2, 27, 3)):
            path, newest = escaped(plugin.library.path[:160]), max(offered)
            message = (
                f"it offers version {newest} of the interface, but NCCL {host.nccl} loads {_OLDEST_API} or later"
            )
            remedy = "install a newer release of the plugin"
            yield report.file(path, message, remedy, evidence=(f"{path}: ncclNetPlugin_v{newest}",))
