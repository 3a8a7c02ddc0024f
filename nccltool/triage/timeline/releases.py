"""Which releases of libraries, modules, images and tools a command names: hpcx-v2.17.1, openmpi/5.0.2."""

import re

_RELEASE = re.compile(
    r"(?<![\w.=-])(?:[\w.-]+/)*(?P<name>[A-Za-z][A-Za-z_+]*(?:-[A-Za-z_]+)*)(?:==|[-_/:@]|-v|_v|/v)v?"
    r"(?P<release>\d+\.\d+(?:[.+-]?\w+)*)"
)
_PATH = re.compile(r"(?P<name>[A-Za-z][A-Za-z_+]*(?:-[A-Za-z_]+)*)[-_/]v?(?P<release>\d+\.\d+(?:\.\w+)*)(?=/)")
"""In a path: /opt/hpcx-v2.17.1/bin, /nccl/2.23.4/lib."""
_OTHERS = frozenset({"nccl", "rccl", "libnccl", "nvidia-nccl-cu", "python", "localhost"})
"""What is followed otherwise, and what is no library of a job."""


def of(text: str) -> dict[str, str]:
    """Name -> release; a name of which a command has several is left out."""
    found: dict[str, set[str]] = {}
    for pattern in (_PATH, _RELEASE):
        for match in pattern.finditer(text):
            name = match["name"].lower().rstrip("-_")
            if name not in _OTHERS:
                found.setdefault(name, set()).add(match["release"])
    return {name: next(iter(releases)) for name, releases in found.items() if len(releases) == 1}


_SAID = re.compile(
    r"(?<![\w./-])(?P<name>[A-Za-z][A-Za-z_+-]{2,})(?: from)?(?: tag| release| version)? v?"
    r"(?P<release>\d+(?:\.\d+)+(?:[.+-]\w+)*)(?! ?(?:[kKMGT]i?B|m?s|min|%)\b)"
)
_NO_NAMES = frozenset({"version", "the", "than", "and", "with", "from", "tag", "release"})


def said(text: str) -> dict[str, str]:
    """The same of prose: `torch 2.0.1`."""
    told = ((match["name"].lower(), match["release"]) for match in _SAID.finditer(text))
    return {name: release for name, release in told if name not in _OTHERS | _NO_NAMES}


def differing(one: dict[str, str], other: dict[str, str]) -> tuple[str, str, str] | None:
    """The only name of which both have a release, and not the same, with both releases."""
    names = [name for name in one.keys() & other.keys() if one[name] != other[name]]
    return (names[0], one[names[0]], other[names[0]]) if len(names) == 1 else None
