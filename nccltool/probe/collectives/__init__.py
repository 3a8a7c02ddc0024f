"""The collectives: one file each, found by listing this folder."""

from nccltool.core import members
from nccltool.core.errors import BadInput
from nccltool.probe.collectives.base import Collective, Part

__all__ = ["NAMES", "Collective", "Part", "get"]

_MEMBERS: dict[str, Collective] = {
    name.replace("-", "_"): members.module(__name__, name).COLLECTIVE for name in members.names(__path__)
}
NAMES = tuple(sorted(_MEMBERS, key=lambda name: (_MEMBERS[name].order, name)))
"""In the order in which they are run and shown."""


_SPELT = {name.replace("_", ""): name for name in NAMES}


def canonical(word: str) -> str:
    """The name of an operation that is spelt allreduce, all-reduce or AllReduce; other words stay as they are."""
    return _SPELT.get(word.lower().replace("_", "").replace("-", ""), word)


def get(name: str) -> Collective:
    """The collective called `name`."""
    if name not in _MEMBERS:
        raise BadInput(f"{name!r} is not an operation", f"choose from {', '.join(NAMES)}")
    return _MEMBERS[name]
