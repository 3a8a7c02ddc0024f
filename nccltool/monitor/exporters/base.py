"""What an exporter hands runs over to. An exporter is a file of this folder with a class Destination."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Protocol, Self, TypeAlias

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
    def of_text(cls, where: str) -> Self:
        """What --metrics names. Raises BadInput."""
        ...

    @property
    def subject(self) -> Subject:
        """What a finding says of it is about."""
        ...

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Hand these runs over; a sentence that says so. Raises NccltoolError."""
        ...
