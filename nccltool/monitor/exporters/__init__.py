"""SHOW to monitoring: destinations for samples, one a file with a class Destination."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Protocol, Self, TypeAlias, cast

from nccltool.core import members
from nccltool.core.errors import BadInput
from nccltool.core.findings import Subject
from nccltool.monitor.metrics import Sample
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Run

_NAMES = members.names(__path__, first=("textfile", "pushgateway"))
AnyRun: TypeAlias = Run | Preflight
TakeSamples: TypeAlias = Callable[[Iterable[AnyRun]], tuple[Sample, ...]]
"""What monitoring sees of some runs."""


class AnyDestination(Protocol):
    """A place to hand samples over to."""

    EXAMPLE: ClassVar[str]
    """As --metrics takes it, after the name of the exporter."""

    @classmethod
    def of_text(cls, where: str) -> Self:
        """What --metrics names. Raises BadInput."""
        ...

    @property
    def subject(self) -> Subject: ...

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Hand these runs over; a sentence that says so. Raises NccltoolError."""
        ...


def named(text: str) -> AnyDestination:
    """What --metrics names: textfile:FILE, pushgateway:URL. Raises BadInput."""
    known = {name: cast("type[AnyDestination]", members.module(__name__, name).Destination) for name in _NAMES}
    name, _, where = text.partition(":")
    if name not in known or not where:
        ways = " or ".join(f"{name}:{kind.EXAMPLE}" for name, kind in known.items())
        raise BadInput(f"--metrics {text[:80]!r} is not valid", f"write {ways}")
    try:
        return known[name].of_text(where)
    except BadInput as error:
        message = error.message.replace(f"--{name}", f"--metrics {name}", 1)
        raise BadInput(message, error.remedy) from error
