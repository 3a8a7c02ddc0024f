"""The chart of how the iterations of an operation spread around their median, by size."""

from typing import Any

from nccltool.core.units import format_bytes, format_seconds
from nccltool.probe.result import Measurement
from nccltool.report import charts
from nccltool.report.parts import ChartPart, KeyEntry, TablePart
from nccltool.report.series import OperationRows


def times(one: OperationRows, table: TablePart, title: str = "") -> ChartPart:
    """The time of a row, and how its iterations spread around it."""
    return ChartPart(
        title=title or one.name,
        name=one.name,
        about=f"time of {one.name} over the message size, with its spread; the table has the numbers",
        spec=charts.spans("time of an iteration"),
        values=tuple(_span(one.name, row) for row in one.rows),
        key=(
            KeyEntry(shape="dot", color="series-1", label="median"),
            KeyEntry(shape="band", color="series-1", label="up to 90 %"),
            KeyEntry(shape="line", color="quiet", label="shortest to longest"),
            KeyEntry(shape="line", color="series-2", label="99 %, of 100 iterations or more"),
        ),
        table=table,
        spark=tuple(row.time_s.seconds for row in one.rows),
    )


def _span(name: str, row: Measurement) -> dict[str, Any]:
    times = row.time_s
    ends = {"low": times.min, "high": times.max, "p90": times.p90, "p99": times.p99}
    known = {word: None if value is None else value * 1e6 for word, value in ends.items()}
    said = f"longest {format_seconds(times.max)}" if times.max is not None else "iterations not known"
    middle = times.seconds if times.median is None else times.median
    about = f"{name} {format_bytes(row.bytes)}: mean {format_seconds(times.seconds)}, {said}"
    return {"x": row.bytes, "y": middle * 1e6, "about": about, **known}
