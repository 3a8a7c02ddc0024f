"""What a reader's screen can show. Each view for people takes a Look; what draws is here, once."""

import itertools
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["pass", "warn", "fail", "dim", "strong"]
Align = Literal["left", "right"]

_CODES: dict[Tone, str] = {"pass": "32", "warn": "33", "fail": "1;31", "dim": "2", "strong": "1"}
"""Of the 16 colours that a theme chooses itself, so that they can be read on dark and on light."""
_PAINTED = re.compile(r"\x1b\[[0-9;]*m")
_BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.:-=+*#"
_MOST_BARS = 28
"""Of a sparkline: what 80 columns leave beside the others of a row of reduce_scatter."""
_LEAST_WIDTH = 16
"""A flexible column is never narrower: a screen of ten columns gets long lines, not one word a line."""
_BETWEEN_COLUMNS = "  "


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What a reader's screen can show; PLAIN for pipes, files and tests."""

    width: int | None = None
    """Columns; None = no terminal: nothing is wrapped, so that logs can be searched by line."""
    height: int | None = None
    """Lines; None = unlimited."""
    colors: bool = False
    unicode: bool = True
    """False where the locale cannot show it: ASCII instead of bars and signs."""
    verbose: bool = False
    """-v: all rows, legends, models, long evidence."""

    @property
    def plus_minus(self) -> str:
        return "±" if self.unicode else "+-"

    def painted(self, text: str, tone: Tone) -> str:
        """`text` in the colour of its meaning."""
        return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if self.colors and text else text

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[str]],
        align: Sequence[Align] = (),
        flexible: int | None = None,
    ) -> str:
        """Columns under their headers. `flexible` is the column that wraps, by words, where the screen is narrow.

        Cells may be painted; they are not escaped here.
        """
        cells = [[*row] for row in rows]
        if flexible is not None and self.width is not None:
            _wrap_column(cells, headers, flexible, self.width)
        widths = [max(map(_shown_width, column)) for column in zip(headers, *cells, strict=True)]
        align = align or ["left" for _ in headers]
        lines = [*_drawn(headers, widths, align), _BETWEEN_COLUMNS.join("-" * width for width in widths)]
        lines += [line for row in cells for line in _drawn(row, widths, align)]
        return "\n".join(lines)

    def wrapped(self, text: str, indent: str = "") -> list[str]:
        """Prose as lines, by words; all but the first begin with `indent`."""
        return _lines(text, self.width, indent)

    def sparkline(self, values: Sequence[float | None]) -> str:
        """A bar for each value, from zero to the largest; a blank for one that is not known. Of more values than
        fit beside the other columns, a bar for the mean of some that follow each other."""
        bars = _BARS if self.unicode else _ASCII_BARS
        values = _fewer(values, _MOST_BARS)
        known = [value for value in values if value is not None and math.isfinite(value)]
        most = max(known, default=0.0)
        return "".join(_bar(value, most, bars) for value in values)


PLAIN = Look()


def _fewer(values: Sequence[float | None], most: int) -> Sequence[float | None]:
    if len(values) <= most:
        return values
    cuts = [len(values) * number // most for number in range(most + 1)]
    return [_mean(values[begin:end]) for begin, end in itertools.pairwise(cuts)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return sum(known) / len(known) if known else None


def _bar(value: float | None, most: float, bars: str) -> str:
    if value is None or not math.isfinite(value):
        return " "
    share = value / most if most > 0 else 0.0
    return bars[min(max(math.ceil(share * len(bars)) - 1, 0), len(bars) - 1)]


def _lines(text: str, width: int | None, indent: str) -> list[str]:
    if width is None:
        return [text]
    width = max(width, _LEAST_WIDTH + len(indent))
    lines = textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
    return lines or [""]


def _drawn(cells: Sequence[str], widths: Sequence[int], align: Sequence[Align]) -> Iterator[str]:
    """The lines of a row: cells of several lines begin at its top."""
    for parts in itertools.zip_longest(*(cell.split("\n") for cell in cells), fillvalue=""):
        padded = []
        for part, width, side in zip(parts, widths, align, strict=True):
            blanks = " " * (width - _shown_width(part))
            padded.append(blanks + part if side == "right" else part + blanks)
        yield _BETWEEN_COLUMNS.join(padded).rstrip()


def _wrap_column(cells: list[list[str]], headers: Sequence[str], flexible: int, width: int) -> None:
    others = (
        max(_shown_width(row[column]) for row in (headers, *cells))
        for column in range(len(headers))
        if column != flexible
    )
    room = width - sum(others) - len(_BETWEEN_COLUMNS) * (len(headers) - 1)
    for row in cells:
        row[flexible] = _wrapped_cell(row[flexible], max(room, _LEAST_WIDTH))


def _wrapped_cell(cell: str, width: int) -> str:
    codes = _PAINTED.findall(cell)
    lines = [line for part in _PAINTED.sub("", cell).split("\n") for line in _lines(part, width, "")]
    if len(codes) != 2:  # of a cell that is painted in pieces the colours are not worth the words
        return "\n".join(lines)
    return "\n".join(f"{codes[0]}{line}{codes[1]}" for line in lines)


def _shown_width(cell: str) -> int:
    return max((len(line) for line in _PAINTED.sub("", cell).split("\n")), default=0)
