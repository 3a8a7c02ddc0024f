"""Runs that differ in the number of ranks: efficiency over the ranks, and where the time of a step goes."""

from collections.abc import Iterator, Sequence

from nccltool.compare import scaling, scaling_series
from nccltool.compare.scaling import ScalingCurve, ScalingPoint
from nccltool.core.text import counted
from nccltool.core.units import format_seconds
from nccltool.preflight.result import Preflight
from nccltool.report import charts, colors
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, KeyEntry, KeyFigure, Part, ReportSection, TablePart, Tone
from nccltool.report.sections import base

_MOST = 12
"""Curves: the raw data has the others."""
_TIMES: Sequence[tuple[Tone, str]] = (
    ("plain", "computing"),
    ("warn", "waiting for communication"),
    ("unknown", "other"),
)


def of(material: Material) -> ReportSection | None:
    runs = [one.run for one in material.runs if not isinstance(one.run, Preflight)]
    curves = scaling_series.shown(scaling.curves(runs), is_verbose=False)[:_MOST]
    if not curves:
        return None
    parts: list[Part] = []
    for curve in curves:
        parts.append(_chart(curve))
        if any(scaling_series.other_s(point) is not None for point in curve.points):
            parts.append(_times(curve))
    last = min((curve.points[-1] for curve in curves), key=lambda point: point.efficiency)
    return ReportSection(
        id="scaling",
        title="Scaling",
        headline=f"Efficiency of {'; '.join(scaling_series.efficiencies(curves))}.",
        figure=KeyFigure(value=base.percent(last.efficiency), label=f"at {counted(last.ranks, 'rank')}"),
        parts=tuple(parts),
    )


def _chart(curve: ScalingCurve) -> ChartPart:
    name = scaling_series.title(curve)
    return ChartPart(
        title=name,
        name=curve.of,
        about="efficiency over the number of ranks with its 95 % interval; the table has the numbers",
        spec=charts.worlds("efficiency (%)"),
        values=tuple(_value(point) for point in curve.points),
        key=(
            KeyEntry(shape="line", color=colors.SERIES[0], label="efficiency"),
            KeyEntry(shape="band", color=colors.SERIES[0], label="95 % interval"),
        ),
        table=_table(curve),
        spark=tuple(point.efficiency for point in curve.points),
    )


def _value(point: ScalingPoint) -> dict[str, object]:
    low = point.efficiency if point.efficiency_low is None else point.efficiency_low
    high = point.efficiency if point.efficiency_high is None else point.efficiency_high
    return {
        "x": point.ranks,
        "y": point.efficiency * 100,
        "low": low * 100,
        "high": high * 100,
        "about": f"{counted(point.ranks, 'rank')}: {base.percent(point.efficiency)} ({point.run})",
    }


def _table(curve: ScalingCurve) -> TablePart:
    headers = scaling_series.headers(curve)
    rows = [scaling_series.row(point, curve) for point in curve.points]
    return base.table("Scaling", headers, rows, *range(len(headers)))


def _times(curve: ScalingCurve) -> ChartPart:
    values = tuple(value for point in curve.points for value in _stretches(point))
    return ChartPart(
        title=f"Where the time of a step goes: {curve.of}, {curve.kind} scaling",
        name=curve.of,
        about="computing, exposed communication, and the rest of a step; the table has the numbers",
        spec=charts.stretches("time (ms)", len(curve.points)),
        values=values,
        key=tuple(
            KeyEntry(shape="box", color=color, label=label)
            for color, (_, label) in zip(("series-1", "warn", "unknown"), _TIMES, strict=True)
        ),
        table=_table(curve),
        spark=tuple(point.time_s for point in curve.points),
    )


def _stretches(point: ScalingPoint) -> Iterator[dict[str, object]]:
    other = scaling_series.other_s(point)
    if point.compute_s is None or point.exposed_s is None or other is None:
        return
    low, name = 0.0, counted(point.ranks, "rank")
    for (tone, label), took in zip(_TIMES, (point.compute_s, point.exposed_s, other), strict=True):
        high = min(low + took, point.time_s)
        about = f"{name}: {format_seconds(took)} {label}"
        color = base.TONE_COLORS[tone]
        yield {"name": name, "low": low * 1e3, "high": high * 1e3, "tone": color, "about": about}
        low = high
