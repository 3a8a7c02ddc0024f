"""Which nccltool this is, and the Python and torch beside it, without importing torch."""

import platform
import sys
from dataclasses import dataclass
from importlib import metadata

from nccltool import __version__
from nccltool.core import documents


@dataclass(frozen=True, kw_only=True, slots=True)
class Installation:
    """What a bug report needs first."""

    nccltool: str
    python: str
    executable: str
    """Of Python."""
    torch: str | None
    """None = not installed."""


def here() -> Installation:
    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch = None
    return Installation(
        nccltool=__version__, python=platform.python_version(), executable=sys.executable, torch=torch
    )


def to_text(found: Installation) -> str:
    torch = f"torch {found.torch}" if found.torch else "torch not installed"
    return f"nccltool {found.nccltool}\nPython {found.python} ({found.executable})\n{torch}\n"


def to_json(found: Installation) -> str:
    return documents.headed("version", installation=found)
