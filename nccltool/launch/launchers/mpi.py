"""Jobs that mpirun starts, which starts this command too: as their ranks."""

from collections.abc import Mapping

from nccltool.launch.launchers.base import LauncherTraits, NotChosen
from nccltool.launch.options import StartOptions

TRAITS = LauncherTraits(order=8, instead="start it with mpirun: mpirun -n 4 nccltool probe ...")


def start(options: StartOptions, env: Mapping[str, str]) -> NotChosen:
    """Nothing can be started from here."""
    return NotChosen()
