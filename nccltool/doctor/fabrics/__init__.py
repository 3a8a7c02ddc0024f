"""Fabrics and the settings that they need: one file each, found by listing this folder."""

from nccltool.core import members
from nccltool.core.errors import BadInput
from nccltool.core.text import nearest, shortened
from nccltool.doctor.fabrics.base import Fabric

NAMES = members.names(__path__)
_LONGEST = 80
"""Characters of a name that are shown, and compared."""


def get(name: str) -> Fabric:
    """The fabric of this name. Raises BadInput."""
    if name not in NAMES:
        near = " or ".join(_near(name))
        meant = f"did you mean {near}? " if near else ""
        message = f"no fabric is called {shortened(name, _LONGEST)!r}"
        raise BadInput(message, f"{meant}choose from auto, {', '.join(NAMES)}")
    fabric: Fabric = members.module(__name__, name).FABRIC
    return fabric


def _near(word: str) -> list[str]:
    """The fabrics that may be meant: those that have the word as a part, else the one that is spelt like it."""
    lower = word.lower()[:_LONGEST]
    parts = [name for name in NAMES if lower in name.split("-") or name.startswith(f"{lower}-")]
    return parts or [name for name in (nearest(lower, NAMES),) if name]
