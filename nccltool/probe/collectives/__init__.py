"""The collectives: one file each, found by listing this folder. `all_to_all_v:zipf:1.1` is one under a skew."""

import functools
import inspect
import math
from dataclasses import replace
from types import ModuleType

from nccltool.core import members, plugins
from nccltool.core.errors import BadInput
from nccltool.core.plugins import PluginFailed, ToolPlugin
from nccltool.probe import skews
from nccltool.probe.collectives.base import Collective, Layout, Part

__all__ = ["IN_ALL", "NAMES", "Collective", "Part", "about", "check", "get", "origin"]

_MODULES: dict[str, ModuleType] = {
    name.replace("-", "_"): members.module(__name__, name, family="collectives")
    for name in members.names(__path__, family="collectives")
}


def _member(module: ModuleType) -> Collective:
    """Its collective; of a plug-in, one whose defects raise PluginFailed."""
    plugin, own = plugins.origin(module), module.COLLECTIVE
    assert isinstance(own, Collective)
    if plugin is None:
        return own
    return replace(
        own,
        layout=plugins.strict(plugin, own.layout),
        bus_factor=plugins.strict(plugin, own.bus_factor),
        least_seconds=plugins.strict(plugin, own.least_seconds),
        bind=plugins.strict(plugin, own.bind),
        expected=plugins.strict(plugin, own.expected),
    )


_MEMBERS: dict[str, Collective] = {
    name: _member(module) for name, module in _MODULES.items() if plugins.has(module, "COLLECTIVE", Collective)
}
NAMES = tuple(sorted(_MEMBERS, key=lambda name: (_MEMBERS[name].order, name)))
"""In the order in which they are run and shown."""
IN_ALL = tuple(name for name in NAMES if _MEMBERS[name].is_in_all)
"""What `--op all` measures."""


_SPELT = {name.replace("_", ""): name for name in NAMES}


def canonical(word: str) -> str:
    """The name of an operation that is spelt allreduce, all-reduce or AllReduce; other words stay as they are."""
    return _SPELT.get(word.lower().replace("_", "").replace("-", ""), word)


def get(name: str) -> Collective:
    """The collective called `name`, which may have a skew behind a colon."""
    base, _, skew = name.partition(":")
    if base not in _MEMBERS:
        raise BadInput(f"{name!r} is not an operation", f"choose from {', '.join(NAMES)}")
    return _under(base, skew) if skew else _MEMBERS[base]


@functools.cache
def _under(base: str, skew: str) -> Collective:
    under = _MEMBERS[base].under
    if under is None:
        raise BadInput(f"{base} sends evenly: it has no skew {skew!r}", f"leave out :{skew}")
    return under(skews.parse(skew))


def is_known(name: str) -> bool:
    """Whether there is such an operation, under such a skew."""
    try:
        get(name)
    except BadInput:
        return False
    return True


def without_skew(name: str) -> str:
    """The name of the operation that is measured under a skew."""
    return name.partition(":")[0]


def skew_of(name: str) -> str:
    """`uniform` where the name alone is given."""
    return name.partition(":")[2] or skews.UNIFORM


def origin(name: str) -> ToolPlugin | None:
    """The plug-in that an operation comes from; None = it is nccltool's own."""
    return plugins.origin(_MODULES[without_skew(name)])


def about(name: str) -> str:
    """What it does, in a sentence of its author."""
    return (inspect.getdoc(_MODULES[without_skew(name)]) or name).splitlines()[0]


def check(name: str, layout: Layout, world_size: int) -> None:
    """Raises PluginFailed where a plug-in's operation cannot be measured at this size. Nothing has run."""
    if (plugin := origin(name)) is None:
        return
    collective = get(name)
    if not isinstance(layout, Layout):
        raise PluginFailed(plugin, f"layout(...) is {layout!r}")
    numbers = {
        f"bus_factor({world_size})": collective.bus_factor(world_size),
        "least_seconds(...)": collective.least_seconds(range(world_size), (1.0,) * world_size),
    }
    for what, number in numbers.items():
        if not isinstance(number, int | float) or not math.isfinite(number):
            raise PluginFailed(plugin, f"{what} is {number!r}")
    for rank in sorted({0, min(1, world_size - 1), world_size - 1}):
        parts = collective.expected(rank, world_size, layout)
        if not all(isinstance(part, Part) for part in parts):
            raise PluginFailed(plugin, f"expected({rank}, {world_size}, ...) is {parts!r}")
