"""Versions of software out of file names and texts: nothing is imported or loaded."""

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Setting, Text, Versions
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_PACKAGES = re.compile(r"(torch|triton|megatron[_-]core|nvidia[_-][A-Za-z0-9_.-]+?|nccltool)-([^-]+)\.dist-info")
_LIBRARIES = ("/usr/lib", "/usr/local/lib", "/opt/conda/lib", "/opt/venv/lib")


def read(tree: Tree, env: Mapping[str, str]) -> Versions:
    """Packages, operating system, drivers of network cards."""
    folders = tuple(_folders(tree, env))
    packages = tuple(_packages(tree, folders))
    found = {one.name: one.value for one in packages}
    return Versions(
        nccltool=_plain(found.get("nccltool")),
        python=platform.python_version() if tree.live else Unknown(CAPTURED),
        torch=found.get("torch", "" if folders else Unknown("no folder of Python packages was found")),
        torch_cuda=_torch_cuda(tree, folders),
        packages=packages,
        ofed=_ofed(tree),
        glibc=_glibc() if tree.live else Unknown(CAPTURED),
        os=_os(tree),
    )


def _plain(version: Text | None) -> str:
    return version if isinstance(version, str) else ""


def _folders(tree: Tree, env: Mapping[str, str]) -> Iterator[str]:
    """Of Python packages: those of this interpreter; in a captured tree the usual ones."""
    if tree.live:
        yield from (path for path in dict.fromkeys(sys.path) if os.path.isdir(path))
        return
    homes = [f"{env[name]}/lib" for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)]
    for library in (*homes, *_LIBRARIES):
        pythons = tree.names(library, absent=())
        for python in () if isinstance(pythons, Unknown) else pythons:
            for kind in ("site-packages", "dist-packages"):
                if python.startswith("python3") and tree.exists(f"{library}/{python}/{kind}") is True:
                    yield f"{library}/{python}/{kind}"


def _packages(tree: Tree, folders: tuple[str, ...]) -> Iterator[Setting]:
    """The first of each name counts, as when it is imported."""
    seen = set()
    for folder in folders:
        names = tree.names(folder, absent=())
        for entry in () if isinstance(names, Unknown) else names:
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
    version = tree.text("/sys/module/mlx5_core/version")
    return "" if isinstance(version, Unknown) else version


def _glibc() -> Text:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    except (ValueError, OSError):
        return Unknown("the C library is not glibc")


def _os(tree: Tree) -> Text:
    lines = tree.lines("/etc/os-release")
    if isinstance(lines, Unknown):
        return lines
    named = [line.partition("=")[2].strip("\"'") for line in lines if line.startswith("PRETTY_NAME=")]
    return named[0] if named else Unknown("/etc/os-release has no PRETTY_NAME")


SOURCES = (Source.quick("versions", "versions", read),)
