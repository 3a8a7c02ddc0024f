"""Ranks need torch, and numpy, without which torch.distributed exchanges no objects. The rest needs neither.

So nccltool is installed without them, and a cluster keeps the torch that it has.
"""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from nccltool.core.errors import BadInput
from nccltool.launch.launchers.base import NodeCommands

PACKAGES = ("torch", "numpy")
INSTALL = "pip install 'nccltool[torch]'"


def missing() -> tuple[str, ...]:
    """Those of them that this Python does not have. Nothing is imported."""
    return tuple(name for name in PACKAGES if find_spec(name) is None)


def require(launch: NodeCommands, command: str, otherwise: str = "") -> None:
    """Raises BadInput where ranks would start in this Python, and it lacks a package; others are asked later."""
    lacking = () if launch.remote else missing()
    if lacking:
        raise BadInput(
            f"{command} starts ranks, which need torch and numpy, but {sys.executable} has no {lacking[0]}",
            remedy(lacking, otherwise or "install nccltool into the environment that your jobs use"),
        )


def lacks(python: str, lacking: Sequence[str]) -> str:
    """What is wrong on another host."""
    return f"cannot start ranks: {python} has no {lacking[0]}"


def remedy(lacking: Sequence[str], otherwise: str) -> str:
    """How to get what is missing; where only numpy is, torch is left as it is."""
    return f"{INSTALL if 'torch' in lacking else 'pip install numpy'}, or {otherwise}"
