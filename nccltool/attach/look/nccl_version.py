"""The version of NCCL that a rank has loaded: from the name of the library, or from the package around it."""

import re
from pathlib import Path

from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version, parse
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_LARGEST = 16 << 20
"""Bytes of /proc/PID/maps: a rank with CUDA has some thousand lines."""
_LOADED = re.compile(r"\s(/\S*/libnccl\.so\.(\d[\d.]*))$", re.MULTILINE)
_PACKAGE = re.compile(r"nvidia_nccl_cu\d{2}-(\d[\w.]*)\.dist-info")
_IN_PACKAGE = "/nvidia/nccl/lib/"


def of(pid: int, tree: Tree) -> Version | Unknown:
    """libnccl.so.2.28.9 has its version in its name; that of a wheel is beside it."""
    found = _LOADED.search(_maps(pid, tree))
    if found is None:
        return Unknown(f"no libnccl in /proc/{pid}/maps")
    path, number = found.groups()
    if number.count(".") >= 2 and (version := parse(number)):
        return version
    packages, sign, _ = path.partition(_IN_PACKAGE)
    names = or_none(tree.names(f"/proc/{pid}/root{packages}")) if sign else None
    named = (_PACKAGE.fullmatch(name) for name in names or ())
    versions = [version for match in named if match and (version := parse(match[1]))]
    return versions[0] if len(versions) == 1 else Unknown(f"the name of {path} has no version")


def _maps(pid: int, tree: Tree) -> str:
    try:
        with Path(f"{tree.root}/proc/{pid}/maps").open("rb") as opened:
            return opened.read(_LARGEST).decode(errors="replace")
    except OSError:
        return ""
