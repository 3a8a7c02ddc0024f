"""Jobs that mpirun starts, which starts this command too: as their ranks."""

from nccltool.launch.launchers.base import LauncherTraits

TRAITS = LauncherTraits(instead="start it with mpirun: mpirun -n 4 nccltool probe ...")
