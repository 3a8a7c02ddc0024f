"""How iteration times are distributed: which rows are steady, and which have a long tail."""

from collections.abc import Sequence

from nccltool.core.text import counted
from nccltool.core.units import format_bytes, format_seconds
from nccltool.probe import headline
from nccltool.probe.result import Measurement
from nccltool.report import series, spread
from nccltool.report.material import Material
from nccltool.report.parts import KeyFigure, ReportSection, TablePart
from nccltool.report.sections import base

_HEADERS = ("operation", "size", "iterations", "shortest", "median", "90 %", "99 %", "longest", "longest / median")


def of(material: Material) -> ReportSection | None:
    operations = series.of(material.newest.measurements)
    rows = [row for one in operations for row in one.rows if _tail(row)]
    if not rows:
        return None
    rows.sort(key=_tail, reverse=True)
    noisy = [row for row in rows if row.noisy]
    worst = rows[0]
    of_worst = next(one for one in operations if worst in one.rows)
    said = f"; {counted(len(noisy), 'row')} noisier than asked for" if noisy else ""
    return ReportSection(
        id="iterations",
        title="Iteration times",
        headline=f"The longest tail is that of {headline.name(worst)} at {format_bytes(worst.bytes)}: its longest"
        f" iteration took {_tail(worst):.3g} times the median{said}.",
        figure=KeyFigure(value=f"{_tail(worst):.3g} x", label="longest / median"),
        parts=(spread.times(of_worst, _table(rows), f"{of_worst.name}: its iterations by size"), _table(rows)),
    )


def _tail(row: Measurement) -> float:
    """How far the longest iteration is from the middle; 0 = single iterations are not known."""
    times = row.time_s
    return times.max / times.median if times.max and times.median else 0.0


def _table(rows: Sequence[Measurement]) -> TablePart:
    return base.table("Longest tails first", _HEADERS, [_cells(row) for row in rows], *range(2, len(_HEADERS)))


def _cells(row: Measurement) -> tuple[str, ...]:
    times = row.time_s
    several = (times.min, times.median, times.p90, times.p99, times.max)
    return (
        headline.name(row),
        format_bytes(row.bytes),
        base.UNKNOWN if row.iterations is None else str(row.iterations),
        *(base.UNKNOWN if value is None else format_seconds(value) for value in several),
        f"{_tail(row):.2f}",
    )
