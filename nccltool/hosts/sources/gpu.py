"""GPUs of this host, counted without CUDA: a process that has used CUDA cannot fork ranks that use it."""

import os
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

from nccltool.hosts.facts import Nvidia
from nccltool.hosts.sources.base import Source, Tree


def count(env: Mapping[str, str] = os.environ, root: Path = Path("/")) -> int:
    """NVIDIA GPUs that a rank started here would see.

    The devices are /dev/nvidiaN, which is also what a container was given. Of CUDA_VISIBLE_DEVICES, CUDA
    ignores the first word that is not a device and all that follow.
    """
    visible = env.get("CUDA_VISIBLE_DEVICES")
    present = len(list((root / "dev").glob("nvidia[0-9]*")))
    if visible is None:
        return present
    named = takewhile(lambda word: word.strip() not in ("", "-1", "NoDevFiles"), visible.split(","))
    return min(len(list(named)), present)


def read(tree: Tree, env: Mapping[str, str]) -> Nvidia:
    """That count, as a fact."""
    return Nvidia(visible_gpus=count(env, Path(tree.root or "/")))


SOURCES = (Source.quick("gpu", "nvidia", read),)
