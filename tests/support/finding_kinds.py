"""The kinds of findings, those of all rooms."""

import importlib
import pkgutil

import nccltool
from nccltool.core import findings

DEFINES_NONE = ("worker", "cli", "__main__")
"""Workers may need torch, and commands only show what was found."""


def every_kind() -> tuple[findings.FindingKind, ...]:
    """Those of every module that may define some."""
    for room in pkgutil.iter_modules(nccltool.__path__, "nccltool."):
        if room.name.removeprefix("nccltool.") not in DEFINES_NONE:
            for module in pkgutil.walk_packages([*importlib.import_module(room.name).__path__], f"{room.name}."):
                importlib.import_module(module.name)
    return findings.kinds()
