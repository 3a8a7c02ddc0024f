"""The collectives: one file each, found by listing this folder."""

import importlib
from pathlib import Path
from typing import cast

from nccltool.core.errors import BadInput
from nccltool.probe.collectives.base import Collective, Part

__all__ = ["NAMES", "Collective", "Part", "get"]


def _loaded(name: str) -> Collective:
    return cast(Collective, importlib.import_module(f"{__name__}.{name}"))


_MEMBERS = {
    file.stem: _loaded(file.stem)
    for file in Path(__file__).parent.glob("*.py")
    if file.stem not in ("__init__", "base")
}
NAMES = tuple(sorted(_MEMBERS, key=lambda name: (_MEMBERS[name].TRAITS.order, name)))
"""In the order in which they are run and shown."""


def get(name: str) -> Collective:
    """The collective called `name`."""
    if name not in _MEMBERS:
        raise BadInput(f"{name!r} is not an operation", f"choose from {', '.join(NAMES)}")
    return _MEMBERS[name]
