"""Fabrics and the settings that they need: one file each, found by listing this folder."""

from nccltool.core import members
from nccltool.core.errors import BadInput
from nccltool.doctor.fabrics.base import Fabric

NAMES = members.names(__path__)


def get(name: str) -> Fabric:
    """The fabric of this name. Raises BadInput."""
    if name not in NAMES:
        raise BadInput(f"no fabric is called {name!r}", f"choose from auto, {', '.join(NAMES)}")
    fabric: Fabric = members.module(__name__, name).FABRIC
    return fabric
