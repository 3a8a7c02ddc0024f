"""Members of families that other packages bring: entry points of the groups nccltool.rules, nccltool.causes, ...

An entry point names a module that is written as a file of that family is, and whose NCCLTOOL_PLUGIN says for which
interface. What goes wrong in one costs only that one, and is named.
"""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeVar

from nccltool.core.errors import BadInput, DidNotComplete, NccltoolError

INTERFACE = 1
"""Of the families. It grows when a file of one of them must be written otherwise."""
Family = Literal["rules", "causes", "collectives", "checks", "importers", "exporters", "launchers", "suites"]
_NEEDS: dict[Family, tuple[str, ...]] = {
    "rules": (),
    "causes": ("DECIDES", "offender"),
    "collectives": ("COLLECTIVE",),
    "checks": ("NEEDS", "STARTS_RANKS", "PART", "about_s", "plan", "run"),
    "importers": ("recognises", "read"),
    "exporters": ("Destination",),
    "launchers": ("TRAITS", "start"),
    "suites": (),
}
"""What the module of a member must have."""
FAMILIES: tuple[Family, ...] = tuple(_NEEDS)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
_LONGEST_REASON = 300
REMEDY = "update or uninstall its package; nccltool plugins lists all"
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolPlugin:
    """An entry point, not loaded yet. (What NCCL loads is a plug-in too: hosts.facts.software.)"""

    family: Family
    name: str
    """As users write it."""
    module: str
    package: str
    version: str

    @property
    def title(self) -> str:
        """As part of a sentence."""
        return f"plug-in {self.name} ({self.family} of {self.package} {self.version})"


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """Why a plug-in is not used, or what went wrong in it."""

    plugin: ToolPlugin
    reason: str


class PluginFailed(DidNotComplete):
    """What was asked of a plug-in could not be had: it raised, or gave something that its family does not have."""

    def __init__(self, plugin: ToolPlugin | None, reason: BaseException | str) -> None:
        """None = it is not installed here, as the reason says."""
        super().__init__(f"{plugin.title} failed: {_in_a_line(reason)}" if plugin else str(reason), REMEDY)


_failures: dict[ToolPlugin, str] = {}


def failures() -> tuple[PluginFailure, ...]:
    """What has gone wrong in this process so far, each plug-in once."""
    return tuple(PluginFailure(plugin, reason) for plugin, reason in _failures.items())


@functools.cache
def installed(family: Family) -> tuple[ToolPlugin, ...]:
    """Those of a family, by name; of two with one name, the first package has it."""
    from importlib import metadata  # 15 ms, and only here

    found: dict[str, ToolPlugin] = {}
    for point in metadata.entry_points(group=f"nccltool.{family}"):
        package = point.dist
        plugin = ToolPlugin(
            family=family,
            name=point.name.replace("_", "-"),
            module=point.value,
            package=package.name if package else "unknown package",
            version=package.version if package else "?",
        )
        if not _NAME.fullmatch(point.name) or not re.fullmatch(r"[\w.]+", point.value, re.ASCII):
            fail(plugin, "its entry point is not NAME = MODULE, with a name in lowercase")
        elif (other := found.setdefault(plugin.name, plugin)) != plugin:
            fail(plugin, f"{other.package} has a plug-in of the same name")
    return tuple(found[name] for name in sorted(found))


def fail(plugin: ToolPlugin, reason: BaseException | str) -> str:
    """Note what went wrong; the reason in one line."""
    return _failures.setdefault(plugin, _in_a_line(reason))


def _in_a_line(reason: BaseException | str) -> str:
    told = reason if isinstance(reason, str) else f"{type(reason).__name__}: {reason}"
    return " ".join(told.split())[:_LONGEST_REASON]


@functools.cache
def load(plugin: ToolPlugin) -> ModuleType | None:
    """Its module; None = it cannot be used, as `failures` says."""
    try:
        module = import_module(plugin.module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plug-in does, nccltool goes on without it
        fail(plugin, error)
        return None
    written_for = getattr(module, "NCCLTOOL_PLUGIN", None)
    lacking = [name for name in _NEEDS[plugin.family] if not hasattr(module, name)]
    if written_for != INTERFACE:
        said = "does not set NCCLTOOL_PLUGIN" if written_for is None else f"sets NCCLTOOL_PLUGIN = {written_for!r}"
        fail(plugin, f"{plugin.module} {said}; this nccltool has interface {INTERFACE}")
    elif lacking:
        fail(plugin, f"{plugin.module} lacks {', '.join(lacking)}")
    return None if plugin in _failures else module


def usable(family: Family, taken: Sequence[str] = ()) -> dict[str, ModuleType]:
    """The modules of a family that can be used, by name. `taken`: names of nccltool's own."""
    found = {}
    for plugin in installed(family):
        if plugin.name in taken:
            fail(plugin, "nccltool has one of the same name")
        elif (module := load(plugin)) is not None:
            found[plugin.name] = module
    return found


def has(module: ModuleType, name: str, kind: type) -> bool:
    """Whether what a member has under this name is of the kind that its family needs. Noted, if it is not."""
    plugin = origin(module)
    if plugin is None or isinstance(getattr(module, name), kind):
        return True
    fail(plugin, f"{plugin.module}.{name} is no {kind.__name__}")
    return False


def origin(module: ModuleType) -> ToolPlugin | None:
    """The plug-in that a module is of; None = it is nccltool's own."""
    name = module.__name__
    every = (plugin for family in FAMILIES for plugin in installed(family))
    return None if name.startswith("nccltool.") else next((one for one in every if one.module == name), None)


def guarded(
    plugin: ToolPlugin, function: Callable[..., Value], instead: Callable[[str], Value]
) -> Callable[..., Value]:
    """The function of a plug-in, whose defects cost no more than what it would have said: `instead` gets why."""

    @functools.wraps(function)
    def call(*words: object, **named: object) -> Value:
        try:
            return function(*words, **named)
        except NccltoolError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a defect is named, and costs nobody else
            return instead(f"{plugin.title} failed: {fail(plugin, error)}")

    return call


def strict(plugin: ToolPlugin, function: Callable[..., Value]) -> Callable[..., Value]:
    """The function of a plug-in, whose defects raise PluginFailed: who calls it knows what they cost."""

    @functools.wraps(function)
    def call(*words: object, **named: object) -> Value:
        try:
            return function(*words, **named)
        except NccltoolError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginFailed(plugin, error) from error

    return call


def refused(why: str) -> BadInput:
    """What was asked for needs a plug-in that does not work."""
    return BadInput(why, REMEDY)


def folder(plugin: ToolPlugin) -> Path | None:
    """The folder of a package of data (suites), which is not imported; None = there is none."""
    from importlib.util import find_spec

    try:
        spec = find_spec(plugin.module)
    except (ImportError, ValueError) as error:
        fail(plugin, error)
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        fail(plugin, f"there is no package {plugin.module}")
    return Path(places[0]) if places else None
