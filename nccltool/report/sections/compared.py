"""The newest run against the one before it, or against a baseline: changes with their intervals."""

from nccltool.compare.change_text import row_name, with_interval
from nccltool.compare.result import Comparable, ComparedRow, Comparison
from nccltool.core.text import counted
from nccltool.core.units import format_gb_per_s
from nccltool.report import charts
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, KeyEntry, KeyFigure, NotePart, Part, ReportSection, TablePart, Tone
from nccltool.report.sections import base

_MOST_DRAWN = 30
_TONES: dict[Comparable, Tone] = {"worse": "fail", "better": "pass", "same": "plain", "cannot-tell": "unknown"}
_WORDS: dict[Comparable, str] = {
    "worse": "B is slower than A",
    "better": "B is faster than A",
    "same": "B is as fast as A",
    "cannot-tell": "it cannot be told whether B is slower than A",
}
_HEADERS = ("row", "A GB/s", "B GB/s", "change", "95 % interval", "result", "why")


def of(material: Material) -> ReportSection | None:
    found = material.comparison
    if found is not None:
        return _section(found)
    if not material.not_compared:
        return None
    return ReportSection(
        id="compared",
        title="A against B",
        headline="The runs cannot be compared.",
        parts=(NotePart(text=material.not_compared, tone="unknown"),),
    )


def _section(found: Comparison) -> ReportSection:
    typical = f": the typical row is {with_interval(found.overall)}" if found.overall else ""
    slower = sum(row.effect.outcome == "worse" for row in found.rows)
    parts: list[Part] = [_chart(found.rows)] if found.rows else []
    parts += [NotePart(text=text) for text in found.notes]
    if found.only_a or found.only_b:
        missing = f"{counted(len(found.only_a), 'row')} only in A, {len(found.only_b)} only in B."
        parts.append(NotePart(text=missing))
    return ReportSection(
        id="compared",
        title="A against B",
        headline=f"{_WORDS[found.outcome]}{typical}. A: {found.a.name}; B: {found.b.name}.",
        figure=KeyFigure(value=str(slower), label="slower row" if slower == 1 else "slower rows"),
        parts=tuple(parts),
    )


def _chart(rows: tuple[ComparedRow, ...]) -> ChartPart:
    ordered = sorted(rows, key=lambda row: row.effect.change)
    shown = ordered[:_MOST_DRAWN]
    values = tuple(
        {
            "name": row_name(row),
            "x": 100 * row.effect.change,
            "low": 100 * row.effect.low,
            "high": 100 * row.effect.high,
            "tone": base.TONE_COLORS[_TONES[row.effect.outcome]],
            "about": f"{row_name(row)}: {with_interval(row.effect)}",
        }
        for row in shown
    )
    return ChartPart(
        title="Change of each row, the largest loss first",
        about="the change from A to B with its interval; the table has the numbers",
        spec=charts.changes(len(shown)),
        values=values,
        key=tuple(
            KeyEntry(shape="dot", color=color, label=label)
            for color, label in (
                ("fail", "slower"),
                ("pass", "faster"),
                ("series-1", "same"),
                ("unknown", "cannot tell"),
            )
        ),
        table=_table(ordered),
        spark=tuple(row.effect.change + 1 for row in shown),
    )


def _table(rows: list[ComparedRow]) -> TablePart:
    return base.table("Rows", _HEADERS, [_cells(row) for row in rows], 1, 2, 3, 4)


def _cells(row: ComparedRow) -> tuple[str, ...]:
    effect = row.effect
    return (
        row_name(row),
        format_gb_per_s(row.busbw_a_bytes_per_s),
        format_gb_per_s(row.busbw_b_bytes_per_s),
        f"{100 * effect.change:+.1f} %",
        f"{100 * effect.low:+.1f} to {100 * effect.high:+.1f} %",
        effect.outcome,
        effect.reason,
    )
