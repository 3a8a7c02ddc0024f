"""The report on a screen: the verdict, and of each section its headline, curves as sparklines, and figures."""

from collections.abc import Iterator

from nccltool.core.look import PLAIN, Look, Tone
from nccltool.core.notices import verdict_line
from nccltool.core.text import escaped, shortened
from nccltool.report.parts import (
    ChartPart,
    FoldPart,
    NotePart,
    Part,
    ReportPage,
    ReportSection,
    SwitchPart,
    TablePart,
    TodoItem,
)

_INDENT = "    "
_LONGEST = 200
_MOST_ROWS = 12
_TONES: dict[str, Tone] = {"fail": "fail", "warn": "warn", "pass": "pass", "unknown": "warn"}
_ELSEWHERE = ("manual", "environment")
"""Sections that are for the file: the headline is enough here."""


def render(page: ReportPage, look: Look = PLAIN) -> str:
    head = verdict_line(look, page.status, page.sentence)
    head += [line for fact in page.facts for line in look.wrapped(escaped(f"{fact.name}: {fact.value}"), _INDENT)]
    todo = [line for one in page.todo for line in _todo(one, look)]
    blocks = [head, todo, *(list(_section(one, look)) for one in page.sections)]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _todo(one: TodoItem, look: Look) -> Iterator[str]:
    yield from look.wrapped(escaped(one.found), _INDENT)
    if one.remedy:
        yield from (f"{_INDENT}{line}" for line in look.wrapped(escaped(f"-> {one.remedy}"), _INDENT))


def _section(section: ReportSection, look: Look) -> Iterator[str]:
    yield from look.wrapped(f"{look.painted(section.title, 'strong')}: {escaped(section.headline)}", _INDENT)
    if section.id not in _ELSEWHERE:
        for part in section.parts:
            yield from (f"{_INDENT}{line}" for line in _part(part, look))


def _part(part: Part, look: Look) -> Iterator[str]:
    match part:
        case ChartPart() | SwitchPart():
            yield from _curve(part, look)
        case NotePart():
            word, _, rest = escaped(shortened(part.text, _LONGEST)).partition(" ")
            tone = _TONES.get(part.tone)
            yield from look.wrapped(f"{look.painted(word, tone) if tone else word} {rest}", _INDENT)
            yield from (f"{_INDENT}{escaped(shortened(line, _LONGEST))}" for line in part.lines[:3])
        case FoldPart():
            yield escaped(part.summary)
        case TablePart():
            yield from _table(part, look)


def _curve(part: ChartPart | SwitchPart, look: Look) -> Iterator[str]:
    chart = part if isinstance(part, ChartPart) else part.charts[0][1]
    known = [value for value in chart.spark if value is not None]
    most = f" up to {max(known):.4g}" if known else ""
    yield f"{look.sparkline(chart.spark)}  {escaped(chart.name or chart.title)}{most}"


def _table(part: TablePart, look: Look) -> Iterator[str]:
    rows = [[escaped(shortened(cell, _LONGEST)) for cell in row] for row in part.rows[:_MOST_ROWS]]
    align = ["right" if number in part.numbers else "left" for number in range(len(part.headers))]
    if part.title:
        yield part.title
    yield from look.table(part.headers, rows, align, flexible=len(part.headers) - 1).split("\n")  # type: ignore[arg-type]
    if more := len(part.rows) - len(rows) + part.more:
        yield f"and {more} more"
