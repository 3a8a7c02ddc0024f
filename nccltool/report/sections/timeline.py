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
    bad = sorted((one for one in last.values() if _is_bad(one)), key=lambda one: (not one.is_end, one.begin))
    named_by_run = _accused(material)
    hung = [one for rank, one in last.items() if rank in named_by_run and not one.is_end and one not in bad]
    first = [*bad, *hung]
    return ReportSection(
        id="timeline",
        title="What each rank did",
        headline=_headline(bad, hung, [one for one in last.values() if not one.is_end and one not in first]),
        figure=KeyFigure(value=str(len(first)), label=f"of {counted(len(last), 'rank')} failed or stuck"),
        parts=(_chart(material.stretches, [one.rank for one in first], {id(one) for one in hung}),),
    )


def _is_bad(one: RankStretch) -> bool:
    return one.is_stopped or (one.is_end and one.what != "done")


def _accused(material: Material) -> set[int]:
    """The ranks that the findings of the run name: one that hangs does not end."""
    suspects = (one.suspect for one in material.newest.findings if one.is_error)
    return {int(one.name) for one in suspects if one and one.kind == "rank" and one.name.isdecimal()}


def _headline(bad: list[RankStretch], hung: list[RankStretch], others: list[RankStretch]) -> str:
    told = [f"rank {one.rank} {_how(one)}" for one in bad]
    told += [f"rank {one.rank} made no progress: {_text(one)}" for one in hung]
    said = f"First: {named(told, 2, '; then ')}." if told else "No rank failed by itself."
    waiting, working = ([str(one.rank) for one in others if one.is_waiting == wanted] for wanted in (True, False))
    if waiting:
        said += f" Waiting in a call: {_ranks(waiting)}."
    return f"{said} Not ended: {_ranks(working)}." if working else said


def _ranks(numbers: list[str]) -> str:
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {named(numbers, 4)}"


def _how(one: RankStretch) -> str:
    return f"was stopped in {shortened(one.what, _LONGEST)}" if one.is_stopped else shortened(one.what, _LONGEST)


def _chart(stretches: tuple[RankStretch, ...], first: list[int], hung: set[int]) -> ChartPart:
    """The ranks that failed, then the others. `hung`: ids of stretches in which a rank made no progress."""
    ranks = list(dict.fromkeys((*first, *(one.rank for one in stretches))))[:_MOST_RANKS]
    place = {rank: number for number, rank in enumerate(ranks)}
    shown = sorted((one for one in stretches if one.rank in place), key=lambda one: (place[one.rank], one.begin))
    drawn = [(one, "fail" if id(one) in hung else _tone(one)) for one in shown[-_MOST_STRETCHES:]]
    values = tuple(
        {
            "name": f"rank {one.rank}",
            "low": one.begin,
            "high": one.end,
            "tone": base.TONE_COLORS[tone],
            "about": f"rank {one.rank}: {_text(one)}",
        }
        for one, tone in drawn
    )
    tones = {tone for _, tone in drawn}
    return ChartPart(
        title="Phases of the ranks",
        about="what each rank did, in the order of the events; the table has the words",
        spec=charts.stretches("events in the order in which they came (they have no time)", len(ranks)),
        values=values,
        key=tuple(KeyEntry(shape="box", color=color, label=label) for tone, color, label in _KEY if tone in tones),
        table=_table(shown),
        is_broad=True,
    )


_KEY = (
    ("plain", "series-1", "working"),
    ("warn", "warn", "inside a call: waiting for others"),
    ("fail", "fail", "failed, stopped, or stuck"),
    ("pass", "pass", "done"),
)


def _tone(one: RankStretch) -> Tone:
    if _is_bad(one):
        return "fail"
    if one.is_end:
        return "pass"
    return "warn" if one.is_waiting else "plain"


def _text(one: RankStretch) -> str:
    stopped = ", stopped by a signal" if one.is_stopped else ""
    return f"{shortened(one.what, _LONGEST)}{', inside a call' if one.is_waiting else ''}{stopped}"


def _table(shown: list[RankStretch]) -> TablePart:
    rows = [(str(one.rank), f"{one.begin} to {one.end}", _text(one)) for one in shown]
    return base.table("Phases", ("rank", "events", "what"), rows, 0)
