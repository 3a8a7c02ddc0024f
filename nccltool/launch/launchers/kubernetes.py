"""Jobs of a cluster that starts containers: `nccltool manifest` makes them."""

from collections.abc import Mapping

from nccltool.launch.launchers.base import LauncherTraits, NotChosen
from nccltool.launch.options import StartOptions

TRAITS = LauncherTraits(order=9, instead="make a manifest: nccltool manifest probe ...")


def start(options: StartOptions, env: Mapping[str, str]) -> NotChosen:
    """Nothing can be started from here."""
    return NotChosen()
