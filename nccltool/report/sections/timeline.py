"""The course of a run that did not complete: what each rank was in, and how it ended."""

from nccltool.core.text import counted, named, shortened
from nccltool.report import charts
from nccltool.report.material import Material, RankStretch
from nccltool.report.parts import ChartPart, KeyEntry, KeyFigure, ReportSection, TablePart, Tone
from nccltool.report.sections import base

_MOST_RANKS = 32
_MOST_STRETCHES = 800
_LONGEST = 200


def of(material: Material) -> ReportSection | None:
    if not material.stretches:
        return None
    last = {one.rank: one for one in material.stretches}
    ends = sorted((one for one in last.values() if one.is_end and one.what != "done"), key=lambda one: one.begin)
    told = [f"rank {one.rank} {shortened(one.what, _LONGEST)}" for one in ends]
    open_ended = [str(one.rank) for one in last.values() if not one.is_end]
    said = f"First: {named(told, 2, '; then ')}." if told else "No rank failed by itself."
    rest = f" Not ended: rank {named(open_ended, 4)}." if open_ended else ""
    return ReportSection(
        id="timeline",
        title="What each rank did",
        headline=f"{said}{rest}",
        figure=KeyFigure(value=str(len(ends)), label=f"of {counted(len(last), 'rank')} ended badly"),
        parts=(_chart(material.stretches, [one.rank for one in ends]),),
    )


def _chart(stretches: tuple[RankStretch, ...], first: list[int]) -> ChartPart:
    """The ranks that ended badly, then the others."""
    ranks = list(dict.fromkeys((*first, *(one.rank for one in stretches))))[:_MOST_RANKS]
    place = {rank: number for number, rank in enumerate(ranks)}
    shown = sorted((one for one in stretches if one.rank in place), key=lambda one: (place[one.rank], one.begin))
    values = tuple(
        {
            "name": f"rank {one.rank}",
            "low": one.begin,
            "high": one.end,
            "tone": base.TONE_COLORS[_tone(one)],
            "about": f"rank {one.rank}: {_text(one)}",
        }
        for one in shown[-_MOST_STRETCHES:]
    )
    return ChartPart(
        title="Phases of the ranks",
        about="what each rank did, in the order of the events; the table has the words",
        spec=charts.stretches("events in the order in which they came (they have no time)", len(ranks)),
        values=values,
        key=tuple(
            KeyEntry(shape="box", color=color, label=label)
            for color, label in (
                ("series-1", "working"),
                ("warn", "inside a call: waiting for others"),
                ("fail", "failed or died"),
                ("pass", "done"),
            )
        ),
        table=_table(shown),
        is_broad=True,
    )


def _tone(one: RankStretch) -> Tone:
    if one.is_end:
        return "pass" if one.what == "done" else "fail"
    return "warn" if one.is_waiting else "plain"


def _text(one: RankStretch) -> str:
    return f"{shortened(one.what, _LONGEST)}{', inside a call' if one.is_waiting else ''}"


def _table(shown: list[RankStretch]) -> TablePart:
    rows = [(str(one.rank), f"{one.begin} to {one.end}", _text(one)) for one in shown]
    return base.table("Phases", ("rank", "events", "what"), rows, 0)
