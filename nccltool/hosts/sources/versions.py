"""Versions of software out of file names and texts: nothing is imported or loaded."""

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Setting, Text, Versions
from nccltool.hosts.facts.leaves import or_none, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree, python_folders

_PACKAGES = re.compile(r"(torch|triton|megatron[_-]core|nvidia[_-][A-Za-z0-9_.-]+?|nccltool)-([^-]+)\.dist-info")


def read(tree: Tree, env: Mapping[str, str], seconds: float) -> Versions:
    """Packages, operating system, drivers of network cards."""
    folders = tuple(_folders(tree, env))
    packages = tuple(_packages(tree, folders))
    found = {one.name: one.value for one in packages}
    return Versions(
        nccltool=or_none(found.get("nccltool", "")) or "",
        python=platform.python_version() if tree.live else Unknown(CAPTURED),
        torch=found.get("torch", "" if folders else Unknown("no folder of Python packages was found")),
        torch_cuda=_torch_cuda(tree, folders),
        packages=packages,
        ofed=_ofed(tree),
        glibc=_glibc() if tree.live else Unknown(CAPTURED),
        os=then(tree.row("/etc/os-release", "PRETTY_NAME", "="), lambda name: name.strip("\"'")),
    )


def _folders(tree: Tree, env: Mapping[str, str]) -> Iterator[str]:
    """Of Python packages: those of this interpreter; in a captured tree the usual ones."""
    if tree.live:
        return (path for path in dict.fromkeys(sys.path) if os.path.isdir(path))
    usual = (env.get("VIRTUAL_ENV"), env.get("CONDA_PREFIX"), "/usr", "/usr/local", "/opt/conda", "/opt/venv")
    return (folder for folder in python_folders(tree, usual) if tree.exists(folder) is True)


def _packages(tree: Tree, folders: tuple[str, ...]) -> Iterator[Setting]:
    """The first of each name counts, as when it is imported."""
    seen = set()
    for entry in (entry for folder in folders for entry in or_none(tree.names(folder)) or ()):
        match = _PACKAGES.fullmatch(entry)
        if match and match[1] not in seen:
            seen.add(match[1])
            yield Setting(name=match[1].replace("_", "-"), value=match[2])


def _torch_cuda(tree: Tree, folders: tuple[str, ...]) -> Text:
    for folder in folders:
        text = tree.exact(f"{folder}/torch/version.py")
        if isinstance(text, str):
            match = re.search(r"^cuda\b[^=]*=\s*(?:'([^']*)'|None)", text, re.MULTILINE)
            return (match[1] or "") if match else Unknown(f"{folder}/torch/version.py names no CUDA")
    return Unknown("torch is not installed")


def _ofed(tree: Tree) -> Text:
    if tree.exists("/sys/module") is not True:
        return Unknown("/sys/module cannot be read")
    return or_none(tree.text("/sys/module/mlx5_core/version")) or ""


def _glibc() -> Text:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    except (ValueError, OSError):
        return Unknown("the C library is not glibc")


SOURCES = (Source("versions", "versions", read),)
