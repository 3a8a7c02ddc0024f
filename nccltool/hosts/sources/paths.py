"""Files that variables name, and files whose presence says something about the platform."""

import os
import stat
from collections.abc import Mapping
from functools import partial

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import FileFact, Flag, Text, all_unknown
from nccltool.hosts.sources.base import CAPTURED, Tree, within

VARIABLES = (
    "NCCL_CONF_FILE", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_FILE", "NCCL_GRAPH_DUMP_FILE",
    "NCCL_DEBUG_FILE", "NCCL_TUNER_CONFIG_PATH", "NCCL_TUNER_CONFIG_FILE", "NCCL_PROFILE_EVENT_MASK_FILE",
    "NCCL_INSPECTOR_DUMP_DIR", "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "NCCL_IBVERBS_LIB",
)  # fmt: skip
WELL_KNOWN = (
    "/dev/aperture_devices", "/etc/nccl.conf", "/opt/amazon/efa", "/opt/amazon/ofi-nccl", "/opt/aws-ofi-nccl",
    "/opt/hpcx", "/opt/microsoft/ncv4/topo.xml", "/opt/microsoft/ndv2/topo.xml", "/opt/microsoft/ndv4/topo.xml",
    "/opt/microsoft/ndv5/topo.xml", "/run/tcpx", "/usr/local/gib", "/usr/local/nvidia/lib64/libnccl-net.so",
    "/var/lib/tcpxo/lib64", "/var/run/nvidia-topologyd/virtualTopology.xml",
)  # fmt: skip
_TEXT_OF = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")


def read(tree: Tree, settings: Mapping[str, str], seconds: float) -> tuple[FileFact, ...]:
    """Facts of every file, those that are named first. Each has its own deadline: network file systems hang."""
    named = [(name, settings[name]) for name in VARIABLES if settings.get(name)]
    asked = named + [("well-known", path) for path in WELL_KNOWN]
    mounts = _mounts(tree)

    found = within(seconds, [(path, partial(_look, tree, name, path, mounts)) for name, path in asked])
    return tuple(
        all_unknown(FileFact, one.reason, path=path, asked_by=name) if isinstance(one, Unknown) else one
        for one, (name, path) in zip(found, asked, strict=True)
    )


def _look(tree: Tree, asked_by: str, path: str, mounts: tuple[tuple[str, str], ...]) -> FileFact:
    if not path.startswith("/") and not tree.live:
        why = "it is relative to a working directory that a captured tree does not tell"
        return all_unknown(FileFact, why, path=path, asked_by=asked_by)
    there = tree.exists(path)
    found = tree.stat(path) if there is not False else Unknown("it does not exist")
    is_file = not isinstance(found, Unknown) and stat.S_ISREG(found.st_mode)
    return FileFact(
        path=path,
        asked_by=asked_by,
        exists=there,
        is_dir=found if isinstance(found, Unknown) else stat.S_ISDIR(found.st_mode),
        readable=_may(tree, path, os.R_OK) if there is True else there,
        writable=_may(tree, path, os.W_OK) if there is True else there,
        parent_writable=_may(tree, os.path.dirname(path) or ".", os.W_OK | os.X_OK),
        fstype=_fstype(path, mounts),
        size_bytes=found if isinstance(found, Unknown) else found.st_size,
        text=tree.exact(path) if asked_by in _TEXT_OF and is_file else Unknown("its text is not kept"),
    )


def _may(tree: Tree, path: str, mode: int) -> Flag:
    if not tree.live:
        return Unknown(CAPTURED)
    try:
        return os.access(path, mode)
    except ValueError:  # a NUL inside
        return False


def _mounts(tree: Tree) -> tuple[tuple[str, str], ...]:
    """(mount point, type of its file system), the last mount first."""
    lines = tree.lines("/proc/self/mountinfo")
    if isinstance(lines, Unknown):
        return ()
    rows = [(line.split(), line.partition(" - ")[2].split()) for line in lines]
    return tuple((left[4], right[0]) for left, right in reversed(rows) if len(left) > 4 and right)


def _fstype(path: str, mounts: tuple[tuple[str, str], ...]) -> Text:
    """Of the longest mount point above the path: nothing is opened, so nothing hangs."""
    full = os.path.normpath(os.path.join(os.getcwd(), path))
    above = [mount for mount in mounts if _is_above(mount[0], full)]
    if not above:
        return Unknown("/proc/self/mountinfo does not tell")
    return max(above, key=lambda mount: len(mount[0]))[1]


def _is_above(point: str, path: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")
