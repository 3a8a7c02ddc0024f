"""Trees like /proc, /sys, /dev and /etc: the formats of the kernel, filled from a description."""

import shutil
from pathlib import Path

from tests.captured_hosts.formats import amd, nvidia, proc, system, wsl
from tests.captured_hosts.formats.pci import PciBus
from tests.captured_hosts.formats.tree import TreeWriter
from tests.captured_hosts.kinds import AMD, NVIDIA, WSL, Kind

_DRIVERS = {NVIDIA: nvidia.write, AMD: amd.write, WSL: wsl.write}
__all__ = ["build"]


def build(root: Path, kind: Kind) -> Path:
    """Make the tree; its root is returned."""
    tree = TreeWriter(root)
    proc.write(tree, kind)
    PciBus(tree, kind).write()
    tree.folder("/dev/shm")
    if kind.gpus:
        _DRIVERS[kind.make](tree, kind)
    system.write(tree, kind)
    for path, text in kind.files.items():
        tree.write(path, text)
    for path in kind.hidden:
        shutil.rmtree(root / path.lstrip("/"), ignore_errors=True)
    return root
