"""The ranks that the others waited for."""

from nccltool.core.text import counted, named
from nccltool.core.units import format_seconds
from nccltool.preflight.result import Preflight
from nccltool.probe import late_rank
from nccltool.probe.late_rank import LateRank, Row
from nccltool.report import charts
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, KeyFigure, NotePart, Part, ReportSection, TablePart
from nccltool.report.sections import base
from nccltool.train.result import TrainRun

_MOST = 40
_HEADERS = ("rank", "late in", "of rows", "by (median)", "least", "most", "by chance at most")


def of(material: Material) -> ReportSection | None:
    run = material.newest
    rows: list[Row] = [row.late_ranks for row in run.measurements if row.group is None]
    if isinstance(run, TrainRun | Preflight):
        rows += [one.late_ranks for one in run.trainings]
    measured = [row for row in rows if row is not None]
    if not measured:
        return None
    found = late_rank.over_rows(measured, run.info.world_size or 1)
    some = NotePart(text="A rank is named if it is late in more rows than chance explains.")
    parts: tuple[Part, ...] = (_chart(found), _table(found)) if found else (some,)
    return ReportSection(
        id="late-ranks",
        title="Late ranks",
        headline=_headline(found, len(measured)),
        figure=KeyFigure(value=str(len(found)), label="late rank" if len(found) == 1 else "late ranks"),
        parts=parts,
    )


def _headline(found: tuple[LateRank, ...], rows: int) -> str:
    if not found:
        return f"No rank came late more often than by chance, in {counted(rows, 'row')}."
    told = [f"rank {one.rank} by {format_seconds(one.late_s)}" for one in found]
    return f"The others waited for {named(told, 4)}."


def _chart(found: tuple[LateRank, ...]) -> ChartPart:
    shown = sorted(found, key=lambda one: one.late_s, reverse=True)[:_MOST]
    values = tuple(
        {
            "name": f"rank {one.rank}",
            "x": one.late_s * 1e3,
            "tone": base.TONE_COLORS["fail" if one.fails else "warn"],
            "about": f"rank {one.rank}: {format_seconds(one.late_s)} late in {one.rows} of {one.of} rows",
        }
        for one in shown
    )
    return ChartPart(
        title="How late",
        about="by how much each rank came late; the table has the numbers",
        spec=charts.bars("late by (ms, median)", len(shown)),
        values=values,
        table=_table(found),
        spark=tuple(one.late_s for one in shown),
    )


def _table(found: tuple[LateRank, ...]) -> TablePart:
    rows = [
        (
            str(one.rank),
            str(one.rows),
            str(one.of),
            *(format_seconds(value) for value in (one.late_s, one.least_s, one.most_s)),
            f"{one.chance:.2g}",
        )
        for one in found
    ]
    return base.table("Late ranks", _HEADERS, rows, *range(len(_HEADERS)))
