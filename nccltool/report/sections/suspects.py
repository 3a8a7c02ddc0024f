"""Who is accused, with which confidence, and what speaks for it."""

from nccltool.core.text import counted
from nccltool.localize.accusations import suspect_text
from nccltool.localize.headline import noise_line, unseen_line
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.result import NextTest, Suspect
from nccltool.report import charts
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, KeyFigure, NotePart, Part, ReportSection, TablePart
from nccltool.report.sections import base

_MOST_DRAWN = 24
_HEADERS = ("suspect", "confidence", "share of the healthy speed", "evidence")


def of(material: Material) -> ReportSection | None:
    run = material.newest
    if not isinstance(run, LocalizedRun):
        return None
    found = run.localization
    parts: list[Part] = []
    if found.suspects:
        parts += [_table(found.suspects), *([_chart(found.suspects)] if len(found.suspects) > 1 else [])]
    parts.append(NotePart(text=noise_line(run)))
    if unseen := unseen_line(run):
        parts.append(NotePart(text=unseen, tone="warn"))
    if found.undetermined:
        slow = tuple(" - ".join(members) for members in found.undetermined)
        parts.append(NotePart(text="Slow, and nothing explains it; no node is named:", lines=slow, tone="warn"))
    if found.next_tests:
        parts.append(_next(found.next_tests))
    return ReportSection(
        id="suspects",
        title="Suspects",
        headline=f"{counted(len(found.suspects), 'suspect')}: {found.reason}",
        figure=KeyFigure(
            value=str(len(found.suspects)), label="suspect" if len(found.suspects) == 1 else "suspects"
        ),
        parts=tuple(parts),
    )


def _chart(suspects: tuple[Suspect, ...]) -> ChartPart:
    shown = suspects[:_MOST_DRAWN]
    values = tuple(
        {
            "name": suspect_text(one),
            "x": 100 * one.confidence,
            "tone": base.TONE_COLORS["fail"],
            "about": f"{suspect_text(one)}: confidence {one.confidence:.2f}",
        }
        for one in shown
    )
    return ChartPart(
        title="Confidence",
        about="the confidence in each suspect; the table has the numbers",
        spec=charts.bars("confidence (%)", len(shown)),
        values=values,
        table=_table(suspects),
        spark=tuple(one.confidence for one in shown),
    )


def _table(suspects: tuple[Suspect, ...]) -> TablePart:
    rows = [
        (
            suspect_text(one),
            f"{one.confidence:.2f}",
            "no result" if one.ratio is None else base.percent(one.ratio),
            "; ".join(one.evidence),
        )
        for one in suspects
    ]
    return base.table("Suspects", _HEADERS, rows, 1, 2)


def _next(tests: tuple[NextTest, ...]) -> TablePart:
    rows = [(" - ".join(one.members), one.rail or "all", one.reason) for one in tests]
    return base.table("Measure next", ("nodes", "rail", "why"), rows)
