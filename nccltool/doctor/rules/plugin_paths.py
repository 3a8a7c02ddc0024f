"""Plugins that are named by a path."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text
from nccltool.hosts.nccl import values

_PLUGINS = tuple(f"NCCL_{name}_PLUGIN" for name in ("NET", "TUNER", "PROFILER", "ENV"))


@for_text("PLG024", "warning", *_PLUGINS, covers=())
def relative_plugin_path(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A plugin is named by a relative path.

    Why: It is looked up in the working directory of each rank. NCCL 2.27 takes it for a suffix of a name and finds
    nothing; NCCL then goes on without the plugin.
    Example: NCCL_PROFILER_PLUGIN=./libprofiler.so
    Instead: NCCL_PROFILER_PLUGIN=/opt/nccl/libprofiler.so
    Source: https://github.com/NVIDIA/nccl/issues/1732; NCCL src/plugin/plugin_open.cc
    """
    for word in values.split(text):
        if "/" in word and not word.startswith(("/", "~", "$")):
            message = "a relative path depends on the working directory of each rank"
            yield report.about(variable, message, "write the whole path", part=word)
