"""Several runs over time: the bandwidth of each operation with its interval, and how each run ended."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime

from nccltool.core.text import counted, shortened
from nccltool.core.units import format_bytes, format_gb_per_s
from nccltool.preflight.result import Preflight
from nccltool.probe import headline
from nccltool.probe.result import Measurement, Run
from nccltool.report import charts, colors
from nccltool.report.material import Material, ReportedRun
from nccltool.report.parts import ChartPart, KeyEntry, KeyFigure, Part, ReportSection, TablePart
from nccltool.report.sections import base

_LEAST = 2
_USUAL = 0.8
"""Of the runs that have any size: those that failed have the first sizes alone."""
_MOST_SERIES = len(colors.SERIES)
_BAD = ("fail", "incomplete")


def of(material: Material) -> ReportSection | None:
    if len(material.runs) < _LEAST:
        return None
    ended = [one.run.verdict.status for one in material.runs]
    bad = sum(status in _BAD for status in ended)
    alike = replace(material, runs=_of_one_size(material.runs))
    tracked = _tracked(alike)
    parts: list[Part] = [_chart(alike, tracked)] if tracked else []
    parts.append(_runs(material))
    return ReportSection(
        id="trends",
        title="Over time",
        headline=f"{bad} of {counted(len(ended), 'run')} failed, from {material.runs[0].run.info.started} to"
        f" {material.newest.info.started}.",
        figure=KeyFigure(value=f"{bad} of {len(ended)}", label="failed"),
        parts=tuple(parts),
    )


def _of_one_size(runs: tuple[ReportedRun, ...]) -> tuple[ReportedRun, ...]:
    """Those with the usual number of ranks and nodes, and those without numbers: other bandwidths are no trend."""
    sizes = [(one.run.info.world_size, one.run.info.nodes) if _rows(one.run) else None for one in runs]
    counts = Counter(filter(None, reversed(sizes)))
    usual = max(counts, key=counts.__getitem__, default=None)  # of those that are as usual, the newest
    return tuple(one for one, size in zip(runs, sizes, strict=True) if size in (None, usual))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tracked:
    """The row that is followed over the runs: a peak of whichever size was best would hide a change."""

    op: str
    bytes: int

    @property
    def name(self) -> str:
        return f"{self.op}, {format_bytes(self.bytes)}"

    @property
    def series(self) -> str:
        """As the history names it."""
        return f"{self.op} {format_bytes(self.bytes)}"

    def of(self, run: Run | Preflight) -> Measurement | None:
        """The row of a run; where it has several, the fastest."""
        rows = [row for row in _rows(run) if (row.op, row.bytes) == (self.op, self.bytes)]
        return headline.peak(rows) if rows else None


def _rows(run: Run | Preflight) -> list[Measurement]:
    return [row for row in run.measurements if row.group is None and row.busbw_bytes_per_s > 0]


def _tracked(material: Material) -> list[_Tracked]:
    """Of each operation, among the sizes that about as many runs have as any, one that changed, or the fastest."""
    counts: dict[_Tracked, int] = {}
    newest: dict[_Tracked, float] = {}
    for one in reversed(material.runs):
        rates = {_Tracked(op=row.op, bytes=row.bytes): row.busbw_bytes_per_s for row in _rows(one.run)}
        for known, rate in rates.items():
            counts[known] = counts.get(known, 0) + 1
            newest.setdefault(known, rate)
    ops = dict.fromkeys(known.op for known in counts)
    best, moved = [], set(_changes(material))
    for op in ops:
        most = max(counts[one] for one in counts if one.op == op)
        usual = [one for one in counts if one.op == op and counts[one] >= max(_USUAL * most, _LEAST)]
        best += [max(usual, key=lambda one: (one.series in moved, newest[one]))] if usual else []
    return best[:_MOST_SERIES]


def _chart(material: Material, tracked: list[_Tracked]) -> ChartPart:
    values, changed = [], _changed(material, tracked)
    for one in material.runs:
        for number, known in enumerate(tracked):
            if row := known.of(one.run):
                ends = dict(zip(("low", "high"), (rate / 1e9 for rate in row.busbw_interval), strict=True))
                about = f"{one.run.info.started} {base.of_row(known.op, row)} ({one.run.info.id})"
                point = {"x": _when(one), "y": row.busbw_bytes_per_s / 1e9, "series": number, "about": about}
                values.append(point | ends | {"changed": one.run.info.id in changed})
    first = [tracked[0].of(one.run) for one in material.runs]
    lines = (
        KeyEntry(shape="line", color=colors.SERIES[number], label=one.name) for number, one in enumerate(tracked)
    )
    return ChartPart(
        title="Bus bandwidth of each run",
        name=tracked[0].name,
        about="the bus bandwidth of each operation at one size over the runs; the table has the numbers",
        spec=charts.times("bus bandwidth (GB/s)", len(tracked)),
        values=tuple(values),
        key=(
            *lines,
            KeyEntry(shape="band", color=colors.SERIES[0], label="95 % interval"),
            *([KeyEntry(shape="dashed", color="warn", label="level changed")] if changed else []),
        ),
        table=_numbers(material, tracked),
        spark=tuple(None if row is None else row.busbw_bytes_per_s / 1e9 for row in first),
        is_broad=True,
    )


def _changed(material: Material, tracked: list[_Tracked]) -> set[str]:
    """The runs at which one of the rows has its first value of a new level."""
    changes, names = _changes(material), {one.series for one in tracked}
    moments = {at[:19] for name, at in changes.items() if name in names}
    return {one.run.info.id for one in material.runs if one.run.info.started[:19] in moments}


def _changes(material: Material) -> dict[str, str]:
    """By the name of a series in the history, the first run of its newest level."""
    drifts = material.history.drifts if material.history else ()
    return {one.series.name: one.at for one in reversed(drifts) if not one.host}


def _when(one: ReportedRun) -> float:
    """Milliseconds, as charts have times."""
    return datetime.fromisoformat(one.run.info.started).timestamp() * 1e3


def _numbers(material: Material, tracked: list[_Tracked]) -> TablePart:
    rows = [(one.run.info.started, *(_rate(known.of(one.run)) for known in tracked)) for one in material.runs]
    headers = ("started", *(one.name for one in tracked))
    return base.table("GB/s, with 95 % intervals", headers, rows, *range(1, len(headers)))


def _rate(row: Measurement | None) -> str:
    if row is None:
        return base.UNKNOWN
    low, high = row.busbw_interval
    interval = f" ({format_gb_per_s(low)} to {format_gb_per_s(high)})" if high > low else ""
    return f"{format_gb_per_s(row.busbw_bytes_per_s)}{interval}"


def _runs(material: Material) -> TablePart:
    """The command where it is not the same in all of them."""
    commands = [shortened(" ".join(one.run.info.command), 200) for one in material.runs]
    width = 3 if len(set(commands)) == 1 else 4
    rows = [
        (one.run.verdict.status, one.run.info.started, one.run.info.id, command)[:width]
        for one, command in zip(reversed(material.runs), reversed(commands), strict=True)
    ]
    return base.table("Runs, the newest first", ("status", "started", "run", "command")[:width], rows)
