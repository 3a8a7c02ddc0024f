"""Markdown for tickets and pull requests: the verdict first; long tables are folded."""

from collections.abc import Iterator, Sequence
from html import escape

from nccltool.core.look import PLAIN
from nccltool.core.markdown import literal
from nccltool.core.text import escaped
from nccltool.report.parts import (
    ChartPart,
    FoldPart,
    MatrixPart,
    NotePart,
    PagePart,
    Part,
    ReportPage,
    ReportSection,
    SwitchPart,
    TablePart,
    TodoItem,
)

_OPEN_ROWS = 12
"""Of a table that is not folded."""
_MOST_ROWS = 60


def render(page: ReportPage) -> str:
    blocks = [f"# {literal(page.status.upper())}: {literal(page.sentence)}"]
    blocks += ["\n".join(f"- {literal(_todo(one))}" for one in page.todo)] if page.todo else []
    blocks.append(_rows(("what", "value"), [(one.name, one.value) for one in page.facts]))
    blocks += [block for section in page.sections for block in _section(section)]
    blocks.append(f"{literal(page.made_by)}, run {literal(', '.join(one.name for one in page.documents[-3:]))}")
    return "\n\n".join(blocks) + "\n"


def _todo(one: TodoItem) -> str:
    return f"{one.found}; remedy: {one.remedy}" if one.remedy else one.found


def _section(section: ReportSection) -> Iterator[str]:
    if section.id != "manual":
        yield f"## {literal(section.title)}"
        yield literal(section.headline)
        for part in section.parts:
            yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    match part:
        case TablePart():
            yield _table(part)
        case NotePart():
            lines = [f"    - {literal(line)}" for line in part.lines]
            remedy = [f"    - remedy: {literal(part.remedy)}"] if part.remedy else []
            yield "\n".join([f"- {literal(part.text)}", *lines, *remedy])
        case FoldPart():
            inside = "\n\n".join(block for one in part.parts for block in _part(one))
            yield _folded(part.summary, inside)
        case ChartPart():
            yield f"`{PLAIN.sparkline(part.spark)}` {literal(part.name or part.title)}\n\n{_table(part.table)}"
        case SwitchPart():
            yield from _part(part.charts[0][1])
        case MatrixPart():
            yield _table(part.table)
        case PagePart():
            yield _folded(part.title, part.markdown)


def _table(part: TablePart) -> str:
    text = _rows(part.headers, part.rows[:_MOST_ROWS])
    if more := max(len(part.rows) - _MOST_ROWS, 0) + part.more:
        text += f"\n\nand {more} more"
    return text if len(part.rows) <= _OPEN_ROWS else _folded(part.title or f"{len(part.rows)} rows", text)


def _rows(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *([literal(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _folded(summary: str, inside: str) -> str:
    return f"<details><summary>{escape(escaped(summary))}</summary>\n\n{inside}\n\n</details>"
