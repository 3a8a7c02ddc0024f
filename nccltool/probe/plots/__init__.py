"""Charts as a file: one format a file, found by listing this folder; the suffix chooses."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nccltool.core import members
from nccltool.core.errors import BadInput

if TYPE_CHECKING:  # the command line checks the suffix, and imports nothing heavy
    from nccltool.core.documents import RunInfo
    from nccltool.probe.chart import Shape
    from nccltool.probe.result import Measurement

SUFFIXES = tuple(f".{name}" for name in members.names(__path__))


def checked(path: str) -> None:
    """Raises BadInput for a suffix that nobody writes, and where what writes it is missing."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"--plot {path}: unknown suffix", f"name a file that ends in {' or '.join(SUFFIXES)}")
    members.module(__name__, suffix[1:]).require(path)


def drawn(info: "RunInfo", rows: "Sequence[Measurement]", path: str) -> bytes:
    """The file. Raises BadInput where there is nothing to draw."""
    from nccltool.probe import chart

    shapes = chart.shapes(info, rows)
    if not shapes:
        raise BadInput(f"--plot {path}: run {info.id} has no measurements", "plot a run of nccltool probe")
    return rendered(shapes, path)


def rendered(shapes: "Sequence[Shape]", path: str) -> bytes:
    """Shapes as a file of the format that the suffix names."""
    found: bytes = members.module(__name__, Path(path).suffix.lower()[1:]).render(shapes)
    return found
