"""LOOK at a run from one side: each section of a report is a file here, a function from the material to parts."""

from collections.abc import Callable, Iterator

from nccltool.core import members
from nccltool.report.material import Material
from nccltool.report.parts import ReportSection

_FIRST = (
    *("findings", "triage", "timeline", "hosts", "suspects", "pairs", "compared", "scaling", "planned"),
    *("history", "trends", "bandwidth", "iterations", "late-ranks", "training", "pipeline"),
)
_LAST = ("environment", "manual")


def names() -> tuple[str, ...]:
    """Of all sections, in the order of the page: the verdict's reasons first, where it was found last."""
    found = members.names(__path__, first=_FIRST)
    return (*(name for name in found if name not in _LAST), *_LAST)


def of(material: Material) -> Iterator[ReportSection]:
    """The sections that have something to show."""
    for name in names():
        make: Callable[[Material], ReportSection | None] = members.module(__name__, name).of
        if section := make(material):
            yield section
