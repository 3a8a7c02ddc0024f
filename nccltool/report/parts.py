"""What a report consists of: sections with a headline, a figure, charts, and tables. Frozen; of no format."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nccltool.core.verdicts import Status

Tone = Literal["pass", "warn", "fail", "unknown", "plain"]
KeyShape = Literal["line", "dashed", "dotted", "band", "dot", "box"]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyFigure:
    """The number that a reader remembers."""

    value: str
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TablePart:
    """Rows of text under headers."""

    title: str = ""
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    """Columns that are aligned on the right."""
    codes: tuple[int, ...] = ()
    """Columns whose signs are below each other."""
    more: int = 0
    """Rows that are left out; the raw data has them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyEntry:
    """A mark of a chart, and what it stands for."""

    shape: KeyShape
    color: str
    """The name of a color of the page, such as `series-1`."""
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartPart:
    """A chart as a Vega-Lite specification, with its numbers as a table."""

    title: str
    about: str
    """What it shows, for those who do not see it."""
    spec: Mapping[str, Any]
    values: tuple[Mapping[str, Any], ...]
    """Its data, apart: charts of one kind share a specification."""
    key: tuple[KeyEntry, ...] = ()
    table: TablePart
    spark: tuple[float | None, ...] = ()
    """The same in one line of text."""
    name: str = ""
    """What it is of, where several charts of a section differ in that."""
    is_broad: bool = False
    """It has more in a row than fits half of a page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SwitchPart:
    """Several views of the same numbers, of which one is seen."""

    title: str
    charts: tuple[tuple[str, ChartPart], ...]
    """Each with the word to choose it by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixPart:
    """A heat map: a cell for a node and a node, or several."""

    title: str
    about: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    """Shares of the healthy speed; None = not measured."""
    table: TablePart


@dataclass(frozen=True, kw_only=True, slots=True)
class NotePart:
    """A paragraph, a list below it, and how serious it is."""

    text: str
    lines: tuple[str, ...] = ()
    tone: Tone = "plain"
    remedy: str = ""
    link: str = ""
    """The id of a part of the same report with more about it; empty = there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PagePart:
    """A section of the manual, in Markdown."""

    id: str
    title: str
    markdown: str


SimplePart = ChartPart | SwitchPart | MatrixPart | NotePart | PagePart | TablePart


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldPart:
    """Parts that are seen when asked for."""

    summary: str
    parts: tuple[SimplePart, ...]
    tone: Tone = "plain"


Part = SimplePart | FoldPart


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportSection:
    """One subject of a report."""

    id: str
    title: str
    headline: str
    """The answer, in one sentence."""
    figure: KeyFigure | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportFact:
    """A name and a value at the top of a report."""

    name: str
    value: str
    is_long: bool = False
    """It is read in a line of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TodoItem:
    """What was found, what to do about it, and where the report explains it."""

    found: str
    remedy: str
    link: str = ""
    """As in a note."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawDocument:
    """The document of a run, as it was read."""

    name: str
    json: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportPage:
    """A whole report."""

    title: str
    status: Status
    exit_code: int
    sentence: str
    """The verdict."""
    todo: tuple[TodoItem, ...]
    """What was found and what to do, the most urgent first."""
    facts: tuple[ReportFact, ...]
    sections: tuple[ReportSection, ...]
    documents: tuple[RawDocument, ...]
    made_by: str
