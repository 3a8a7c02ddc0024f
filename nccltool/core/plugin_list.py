"""The plug-ins that there are, and why one is not used."""

from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.core import documents, plugins
from nccltool.core.plugins import Family
from nccltool.core.text import escaped


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedPlugin:
    """A plug-in."""

    name: str
    family: Family
    package: str
    version: str
    module: str
    problem: str | None
    """Why it is not used; None = it is."""


def every() -> tuple[ListedPlugin, ...]:
    """All of them, after what is wrong with them has been found."""
    for family in plugins.FAMILIES:
        plugins.usable(family) if family != "suites" else list(map(plugins.folder, plugins.installed(family)))
    problems = {failure.plugin: failure.reason for failure in plugins.failures()}
    found = dict.fromkeys([plugin for family in plugins.FAMILIES for plugin in plugins.installed(family)])
    return tuple(
        ListedPlugin(
            name=plugin.name,
            family=plugin.family,
            package=plugin.package,
            version=plugin.version,
            module=plugin.module,
            problem=problems.get(plugin),
        )
        for plugin in (*found, *(failed for failed in problems if failed not in found))
    )


def to_text(found: Sequence[ListedPlugin]) -> str:
    """A line for each, and below it what is wrong."""
    if not found:
        return "no plug-ins are installed\n"
    lines = []
    for one in found:
        lines.append(f"{one.family:<12}{one.name:<20}{one.package} {one.version}")
        lines += [f"    not used: {one.problem}"] if one.problem else []
    return "".join(f"{escaped(line)}\n" for line in lines)


def to_json(found: Sequence[ListedPlugin]) -> str:
    """The document of kind plugins."""
    return documents.headed("plugins", interface=plugins.INTERFACE, plugins=found)
