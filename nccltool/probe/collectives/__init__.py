"""The collectives: one file each, found by listing this folder."""

from types import ModuleType

from nccltool.core import members, plugins
from nccltool.core.errors import BadInput
from nccltool.probe.collectives.base import Collective, Part

__all__ = ["NAMES", "Collective", "Part", "get"]

_MODULES: dict[str, ModuleType] = {
    name.replace("-", "_"): members.module(__name__, name, family="collectives")
    for name in members.names(__path__, family="collectives")
}
_MEMBERS: dict[str, Collective] = {
    name: module.COLLECTIVE for name, module in _MODULES.items() if plugins.has(module, "COLLECTIVE", Collective)
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
