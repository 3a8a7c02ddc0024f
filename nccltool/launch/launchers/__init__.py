"""Who can start the nodes of a job: one launcher a file, found by listing this folder."""

from types import ModuleType
from typing import TYPE_CHECKING, cast

from nccltool.core import members, plugins

if TYPE_CHECKING:  # the command line takes the names from here
    from nccltool.launch.launchers.base import Launcher

NAMES = members.names(
    __path__, first=("local", "ssh", "slurm", "pbs", "lsf", "flux", "ray", "mpi", "kubernetes"), family="launchers"
)


def get(name: str) -> "Launcher":
    """The launcher called `name`."""
    module = members.module(__name__, name, family="launchers")
    plugin = plugins.origin(module)
    return _of_plugin(plugin, module) if plugin else cast("Launcher", module)


def _of_plugin(plugin: plugins.ToolPlugin, module: ModuleType) -> "Launcher":
    """One that leaves the nodes to the next launcher when it fails."""
    from nccltool.launch.launchers.base import GuardedLauncher, LauncherTraits, NotChosen

    if not plugins.has(module, "TRAITS", LauncherTraits):
        return cast("Launcher", GuardedLauncher(TRAITS=LauncherTraits(), start=lambda options, env: NotChosen()))
    guarded = GuardedLauncher(TRAITS=module.TRAITS, start=plugins.guarded(plugin, module.start, NotChosen))
    return cast("Launcher", guarded)


def in_order() -> "tuple[Launcher, ...]":
    """Those that start nodes from here, as they are asked."""
    able = [launcher for launcher in map(get, NAMES) if not launcher.TRAITS.instead]
    return tuple(sorted(able, key=lambda launcher: launcher.TRAITS.order))
