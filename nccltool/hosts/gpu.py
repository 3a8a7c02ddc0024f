"""How many GPUs a rank that is started here would see: those of NVIDIA, else those of AMD.

Nothing here uses CUDA or HIP: a process that has used either cannot fork ranks that use it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import Count
from nccltool.hosts.sources import amd, nvidia
from nccltool.hosts.sources.base import Tree


def count(env: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Count:
    """GPUs, as far as files tell; Unknown = at least one is there, and only its driver knows how many."""
    tree = Tree.at(root)
    return nvidia.counted(tree, env) or amd.counted(tree, env)


def are_nvidias(root: Path = Path("/")) -> bool:
    """Whether those that are counted are of NVIDIA, else of AMD."""
    return nvidia.counted(Tree.at(root), {}) != 0


def at_least(env: Mapping[str, str] = os.environ) -> int:
    """How many there are at least: one, where only its driver knows how many."""
    number = count(env)
    return 1 if isinstance(number, Unknown) else number
