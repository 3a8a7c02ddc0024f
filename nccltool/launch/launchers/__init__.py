"""Who can start the nodes of a job: one launcher a file, found by listing this folder."""

from typing import TYPE_CHECKING, cast

from nccltool.core import members

if TYPE_CHECKING:  # the command line takes the names from here
    from nccltool.launch.launchers.base import Launcher

NAMES = members.names(__path__, first=("local", "ssh", "slurm", "mpi", "kubernetes"))


def get(name: str) -> "Launcher":
    """The launcher called `name`."""
    return cast("Launcher", members.module(__name__, name))


def in_order() -> "tuple[Launcher, ...]":
    """Those that start nodes from here, as they are asked."""
    able = [launcher for launcher in map(get, NAMES) if not launcher.TRAITS.instead]
    return tuple(sorted(able, key=lambda launcher: launcher.TRAITS.order))
