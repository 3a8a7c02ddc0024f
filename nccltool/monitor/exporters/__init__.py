"""SHOW to monitoring: destinations for samples, one a file with a class Destination."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Protocol, Self, TypeAlias, cast

from nccltool.core import members, plugins
from nccltool.core.errors import BadInput, ResultNotWritten
from nccltool.core.findings import Subject
from nccltool.monitor.metrics import Sample
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Run

AnyRun: TypeAlias = Run | Preflight
TakeSamples: TypeAlias = Callable[[Iterable[AnyRun]], tuple[Sample, ...]]
"""What monitoring sees of some runs."""


class AnyDestination(Protocol):
    """A place to hand samples over to."""

    EXAMPLE: ClassVar[str]
    """As --metrics takes it, after the name of the exporter."""

    @classmethod
    def of_text(cls, where: str, cluster: str) -> Self:
        """What --metrics names, for a cluster; empty = none is named. Raises BadInput."""
        ...

    @property
    def subject(self) -> Subject: ...

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Hand these runs over; a sentence that says so. Raises NccltoolError."""
        ...


def _names() -> tuple[str, ...]:
    """Asked for late: the modules of plug-ins import this one."""
    return members.names(__path__, first=("textfile", "pushgateway"), family="exporters")


def named(text: str, cluster: str = "") -> AnyDestination:
    """What --metrics names: textfile:FILE, pushgateway:URL. Raises BadInput."""
    modules = {name: members.module(__name__, name, family="exporters") for name in _names()}
    known = {name: cast("type[AnyDestination]", module.Destination) for name, module in modules.items()}
    name, _, where = text.partition(":")
    if name not in known or not where:
        ways = " or ".join(f"{name}:{kind.EXAMPLE}" for name, kind in known.items())
        raise BadInput(f"--metrics {text[:80]!r} is not valid", f"write {ways}")
    plugin = plugins.origin(modules[name])
    try:
        if plugin is None:
            return known[name].of_text(where, cluster)
        return cast("AnyDestination", _OfPlugin(plugin, known[name], where, cluster))
    except BadInput as error:
        message = error.message.replace(f"--{name}", f"--metrics {name}", 1)
        raise BadInput(message, error.remedy) from error


class _OfPlugin:
    """A destination of another package, which is named where it fails."""

    EXAMPLE: ClassVar = ""

    def __init__(self, plugin: plugins.ToolPlugin, kind: type[AnyDestination], where: str, cluster: str) -> None:
        self._plugin = plugin
        self._destination = plugins.guarded(plugin, kind.of_text, _refused)(where, cluster)

    @property
    def subject(self) -> Subject:
        return self._destination.subject

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Raises NccltoolError."""
        return plugins.guarded(self._plugin, self._destination.hand_over, _not_written)(found, samples)


def _refused(why: str) -> AnyDestination:
    raise plugins.refused(why)


def _not_written(why: str) -> str:
    raise ResultNotWritten(why, "update or uninstall its package")
