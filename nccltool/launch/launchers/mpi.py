"""Jobs that mpirun starts, which starts this command too: as their ranks."""

from nccltool.launch.launchers.base import LauncherTraits, starts_nothing

TRAITS = LauncherTraits(order=8, instead="start it with mpirun: mpirun -n 4 nccltool probe ...")

start = starts_nothing
