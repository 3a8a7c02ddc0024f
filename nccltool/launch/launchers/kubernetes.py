"""Jobs of a cluster that starts containers: `nccltool manifest` makes them."""

from nccltool.launch.launchers.base import LauncherTraits, starts_nothing

TRAITS = LauncherTraits(order=9, instead="make a manifest: nccltool manifest probe ...")

start = starts_nothing
