"""Several runs over time: the highest bandwidth of each operation, and how each run ended."""

from datetime import datetime

from nccltool.core.text import counted, shortened
from nccltool.core.units import format_gb_per_s
from nccltool.preflight.result import Preflight
from nccltool.probe import headline
from nccltool.probe.result import Measurement, Run
from nccltool.report import charts, colors
from nccltool.report.material import Material, ReportedRun
from nccltool.report.parts import ChartPart, KeyEntry, KeyFigure, Part, ReportSection, TablePart
from nccltool.report.sections import base

_LEAST = 2
_MOST_SERIES = len(colors.SERIES)
_BAD = ("fail", "incomplete")


def of(material: Material) -> ReportSection | None:
    if len(material.runs) < _LEAST:
        return None
    ended = [one.run.verdict.status for one in material.runs]
    bad = sum(status in _BAD for status in ended)
    ops = _operations(material)
    parts: list[Part] = [_chart(material, ops)] if ops else []
    parts.append(_runs(material))
    return ReportSection(
        id="trends",
        title="Over time",
        headline=f"{bad} of {counted(len(ended), 'run')} failed, from {material.runs[0].run.info.started} to"
        f" {material.newest.info.started}.",
        figure=KeyFigure(value=f"{bad} of {len(ended)}", label="failed"),
        parts=tuple(parts),
    )


def _operations(material: Material) -> list[str]:
    """Those with a point in at least two runs, in the order of the newest."""
    counts: dict[str, int] = {}
    for one in reversed(material.runs):
        for op in _peaks(one.run):
            counts[op] = counts.get(op, 0) + 1
    return [op for op, count in counts.items() if count >= _LEAST][:_MOST_SERIES]


def _peaks(run: Run | Preflight) -> dict[str, Measurement]:
    rows = [row for row in run.measurements if row.group is None and row.busbw_bytes_per_s > 0]
    ops = dict.fromkeys(row.op for row in rows)
    return {op: headline.peak([row for row in rows if row.op == op]) for op in ops}


def _chart(material: Material, ops: list[str]) -> ChartPart:
    values = []
    for one in material.runs:
        peaks = _peaks(one.run)
        for number, op in enumerate(ops):
            if row := peaks.get(op):
                rate = row.busbw_bytes_per_s
                about = f"{one.run.info.started} {op}: {base.gb_per_s(rate)} ({one.run.info.id})"
                values.append({"x": _when(one), "y": rate / 1e9, "series": number, "about": about})
    newest = [_peaks(one.run).get(ops[0]) for one in material.runs]
    return ChartPart(
        title="Highest bus bandwidth of each run",
        name=ops[0],
        about="the highest bus bandwidth of each operation over the runs; the table has the numbers",
        spec=charts.times("bus bandwidth (GB/s)", len(ops)),
        values=tuple(values),
        key=tuple(KeyEntry(shape="line", color=colors.SERIES[number], label=op) for number, op in enumerate(ops)),
        table=_numbers(material, ops),
        spark=tuple(None if row is None else row.busbw_bytes_per_s / 1e9 for row in newest),
    )


def _when(one: ReportedRun) -> float:
    """Milliseconds, as charts have times."""
    return datetime.fromisoformat(one.run.info.started).timestamp() * 1e3


def _numbers(material: Material, ops: list[str]) -> TablePart:
    rows = []
    for one in material.runs:
        peaks = _peaks(one.run)
        rates = (format_gb_per_s(peaks[op].busbw_bytes_per_s) if op in peaks else base.UNKNOWN for op in ops)
        rows.append((one.run.info.started, *rates))
    return base.table("GB/s", ("started", *ops), rows, *range(1, len(ops) + 1))


def _runs(material: Material) -> TablePart:
    rows = [_run(one) for one in reversed(material.runs)]
    return base.table("Runs, the newest first", ("run", "started", "status", "command"), rows)


def _run(one: ReportedRun) -> tuple[str, ...]:
    info = one.run.info
    return info.id, info.started, one.run.verdict.status, shortened(" ".join(info.command), 200)
