"""GPUs of this host, counted without CUDA: a process that has used CUDA cannot fork ranks that use it."""

import os
from collections.abc import Mapping
from pathlib import Path


def count(env: Mapping[str, str] = os.environ, root: Path = Path("/")) -> int:
    """NVIDIA (or AMD) GPUs that a rank started here would see.

    CUDA_VISIBLE_DEVICES counts where it is set; else the driver's devices: /proc/driver/nvidia/gpus has a
    folder for each, and /dev/nvidiaN is what a container was given.
    """
    visible = env.get("CUDA_VISIBLE_DEVICES")
    present = len(list((root / "dev").glob("nvidia[0-9]*")))
    if visible is None:
        return present
    named = [word for word in visible.split(",") if word.strip() not in ("", "-1", "NoDevFiles")]
    return min(len(named), present)
