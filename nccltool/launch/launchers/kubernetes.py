"""Jobs of a cluster that starts containers: `nccltool manifest` makes them."""

from nccltool.launch.launchers.base import LauncherTraits

TRAITS = LauncherTraits(instead="make a manifest: nccltool manifest probe ...")
