"""Bandwidth and latency of each operation over the size."""

from collections.abc import Callable, Iterator
from typing import Any

from nccltool.compare import run_samples
from nccltool.core.text import counted
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.probe import headline
from nccltool.probe.result import Measurement
from nccltool.report import charts, series, spread
from nccltool.report.material import Material
from nccltool.report.parts import (
    ChartPart,
    KeyEntry,
    KeyFigure,
    NotePart,
    Part,
    ReportSection,
    SwitchPart,
    TablePart,
)
from nccltool.report.sections import base
from nccltool.report.series import OperationRows

_MOST = 24
"""Curves that are drawn; the others are in the raw data."""
_EQUAL = 1e-6
_HEADERS = ("size", "time", "algbw GB/s", "busbw GB/s", "95 % interval", "limit GB/s", "wrong")


def of(material: Material) -> ReportSection | None:
    rows = series.of(material.newest.measurements)
    if not rows:
        return None
    best = headline.peak([row for one in rows for row in one.rows])
    parts: list[Part] = [_switch(one, material) for one in rows[:_MOST]]
    if len(rows) > _MOST:
        parts.append(NotePart(text=f"{counted(len(rows) - _MOST, 'more curve')} are in the raw data."))
    sizes = headline.sizes(material.newest.measurements)
    return ReportSection(
        id="bandwidth",
        title="Bandwidth and latency",
        headline=f"{counted(len(rows), 'curve')} over {sizes}; the highest bus bandwidth is"
        f" {base.gb_per_s(best.busbw_bytes_per_s)} ({headline.name(best)}, {format_bytes(best.bytes)})"
        f"{_of_limit(best)}.",
        figure=KeyFigure(value=base.gb_per_s(best.busbw_bytes_per_s), label="highest busbw"),
        parts=tuple(parts),
    )


def _of_limit(row: Measurement) -> str:
    limit = row.limit_busbw_bytes_per_s
    return f", {base.percent(row.busbw_bytes_per_s / limit)} of the limit" if limit else ""


_Value = Callable[[Measurement, float], float]


def _switch(one: OperationRows, material: Material) -> SwitchPart:
    """Views of the same rows; where the factor is 1, algbw is busbw."""
    views: list[tuple[str, str, _Value]] = [("busbw", "bus bandwidth (GB/s)", lambda row, rate: rate / 1e9)]
    if any(abs(_share(row) - 1) > _EQUAL for row in one.rows):
        views.append(("algbw", "algorithm bandwidth (GB/s)", lambda row, rate: rate / 1e9 * _share(row)))
    chosen = [(word, _chart(one, material, unit, value)) for word, unit, value in views]
    return SwitchPart(title=one.name, charts=(*chosen, ("time", spread.times(one, _table(one)))))


def _share(row: Measurement) -> float:
    return row.algbw_bytes_per_s / row.busbw_bytes_per_s


def _chart(one: OperationRows, material: Material, unit: str, value: _Value) -> ChartPart:
    has_limit = any(row.limit_busbw_bytes_per_s for row in one.rows)
    has_before = any(run_samples.key_of(row) in material.before for row in one.rows)
    values = tuple(_points(one, material, value))
    return ChartPart(
        title=one.name,
        name=one.name,
        about=f"{unit} of {one.name} over the message size; the table has the numbers",
        spec=charts.curves(unit, has_limit, has_before),
        values=values,
        key=tuple(_key(has_limit, material.before_name if has_before else "")),
        table=_table(one),
        spark=tuple(point["y"] for point in values),
    )


def _points(one: OperationRows, material: Material, value: _Value) -> Iterator[dict[str, Any]]:
    for row in one.rows:
        ends = sorted(value(row, rate) for rate in row.busbw_interval)
        point: dict[str, Any] = {"x": row.bytes, "y": value(row, row.busbw_bytes_per_s), "low": ends[0]}
        point |= {"high": ends[1], "about": base.of_row(one.name, row)}
        others = (row.limit_busbw_bytes_per_s, material.before.get(run_samples.key_of(row)))
        for name, rate in zip(("limit", "earlier"), others, strict=True):
            point[name] = value(row, rate) if rate else None
        yield point


def _key(has_limit: bool, before: str) -> Iterator[KeyEntry]:
    yield KeyEntry(shape="line", color="series-1", label="measured")
    yield KeyEntry(shape="band", color="series-1", label="95 % interval")
    if has_limit:
        yield KeyEntry(shape="dashed", color="limit", label="limit of the links")
    if before:
        yield KeyEntry(shape="dotted", color="series-2", label=before)


def _table(one: OperationRows) -> TablePart:
    return base.table(one.name, _HEADERS, [_cells(row) for row in one.rows], *range(len(_HEADERS)))


def _cells(row: Measurement) -> tuple[str, ...]:
    low, high = row.busbw_interval
    limit = row.limit_busbw_bytes_per_s
    return (
        format_bytes(row.bytes),
        format_seconds(row.time_s.seconds),
        format_gb_per_s(row.algbw_bytes_per_s),
        format_gb_per_s(row.busbw_bytes_per_s),
        f"{format_gb_per_s(low)} to {format_gb_per_s(high)}" if high > low else base.UNKNOWN,
        base.UNKNOWN if limit is None else format_gb_per_s(limit),
        "not checked" if row.wrong is None else str(row.wrong),
    )
