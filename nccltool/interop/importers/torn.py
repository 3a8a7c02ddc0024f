"""Rows that something tore apart: a line broken in two, or another process's line in the middle of it.

nccl-tests writes a row in three pieces; mpirun and a terminal may put other text, or an end of line, between them.
Pieces are joined only where the result is a whole row whose bandwidths are those of its size and time.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nccltool.core.errors import BadInput
from nccltool.interop.importers import columns as layout
from nccltool.interop.importers.base import Row, printed
from nccltool.interop.importers.columns import Columns
from nccltool.probe import nccl_tests

_BEGIN = re.compile(rf"(?:^|(?<=\s))\d{{1,18}}\s+\d{{1,18}}\s+(?:{'|'.join(nccl_tests.TYPES)})(?=\s|$)", re.ASCII)
_GLUED = re.compile(r"(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]\d+)?|N/A)(?=[A-Za-z\[(<])", re.ASCII)
"""A number that another writer's line follows without a space."""
_NUMBER = re.compile(r"\s*[\d.]+(?:\s|$)", re.ASCII)
_FARTHEST = 2000
"""Lines in which the rest of a row is looked for: NCCL's log of one set-up with many ranks."""
_MOST_WAYS = 16
_FIRST_PART = ("size", "count", "type")
_LEAST_OF_TAIL = 4
"""Fields behind another writer's line that are taken for the end of a row: one placement."""
Place = Callable[[int], str]


@dataclass(slots=True)
class TornTable:
    """What the lines under one heading hold."""

    rows: list[Row] = field(default_factory=list)
    rejoined: list[int] = field(default_factory=list)
    """Lines where rows began that were joined."""
    lost: list[tuple[int, str]] = field(default_factory=list)
    """(line, what is left) of rows that could not be joined."""
    without_in_place: bool = False
    """No row has the second placement that the heading names."""


@dataclass(slots=True)
class _Open:
    """A row of which the end has not come: the ways in which its pieces can be one text."""

    line: int
    ways: list[str]


def table(lines: list[tuple[int, str]], columns: Columns, at: Place) -> TornTable:
    """The rows in the lines under a heading. Raises BadInput where not one of them is as the heading says."""
    found = _read(lines, columns, at)
    if found.rows or not found.lost:
        return found
    others = [(_read(lines, other, at), other) for other in layout.narrower(columns)]
    best, narrow = max(others, key=lambda one: len(one[0].rows), default=(found, columns))
    if len(best.rows) < len(found.lost):
        number = found.lost[0][0]
        layout.row(next(line for where, line in lines if where == number), columns, at(number))
        return found
    best.without_in_place = narrow.placements != columns.placements
    return best


def _read(lines: list[tuple[int, str]], columns: Columns, at: Place) -> TornTable:
    found = TornTable()
    pending: _Open | None = None
    for number, line in lines:
        begin = _BEGIN.search(line)
        if begin is None:
            pending = _continued(found, pending, line, columns, at, number)
            continue
        if pending is not None:
            _lose(found, pending)
        pending = _begun(found, number, line, begin, columns, at)
    if pending is not None:
        _lose(found, pending)
    return found


def _begun(
    found: TornTable, number: int, line: str, begin: re.Match[str], columns: Columns, at: Place
) -> _Open | None:
    """A row that stands in a line, or begins in it."""
    text = line[begin.start() :]
    alone = not line[: begin.start()].strip()
    if _is_whole(text, columns):
        row = layout.row(text, columns, at(number))
        if alone or layout.fits(row, columns):
            found.rows.append(row)
            return None
    piece = _leading(text, 0, columns)
    whole = _row(piece, columns, at(number))
    if whole is not None and not _NUMBER.match(text[_end(text, piece) :]):  # another's line follows in this one
        found.rows.append(whole)
        found.rejoined.append(number)
        return None
    if alone and whole is None and _has_one_bad_cell(text, columns):
        layout.row(text, columns, at(number))  # not torn, but unreadable: it says what is wrong
    return _Open(number, [piece])


def _continued(
    found: TornTable, pending: _Open | None, line: str, columns: Columns, at: Place, number: int
) -> _Open | None:
    """What a line that begins no row adds to the one that is open."""
    if pending is None or not line.strip():
        return pending
    if number - pending.line > _FARTHEST:
        _lose(found, pending)
        return None
    for pieces in (_beginnings, _ends):  # the end of a line can fit where its beginning does, and says less
        ways = [
            joined
            for way in pending.ways
            for piece in pieces(line, way, columns)
            for joined in (f"{way} {piece}", f"{way}{piece}")
        ]
        rows = [row for way in ways if (row := _row(way, columns, at(pending.line)))]
        if rows and all(row.halves == rows[0].halves for row in rows):
            found.rows.append(rows[0])
            found.rejoined.append(pending.line)
            return None
        pending.ways = [*pending.ways, *(way for way in ways if _is_beginning(way, columns))][:_MOST_WAYS]
    return pending


def _beginnings(line: str, way: str, columns: Columns) -> Iterator[str]:
    """What a line begins with that can go on a row, or on its last word."""
    have = len(way.split())
    found = [piece for start in (have, have - 1) if (piece := _leading(line, start, columns))]
    yield from dict.fromkeys(found)


def _ends(line: str, way: str, columns: Columns) -> Iterator[str]:
    """The end of a line, behind somebody else's text, that can be the rest of a row."""
    words = line.split()
    left = layout.width(columns) - len(way.split())
    if _LEAST_OF_TAIL <= left < len(words):
        yield " ".join(words[-left:])


def _leading(text: str, start: int, columns: Columns) -> str:
    """The words at the beginning of a text that can be the fields of a row from one on."""
    found: list[str] = []
    kinds = layout.kinds(columns)[start:]
    for word, kind in zip(text.split(), kinds, strict=False):
        if layout.can_be(word, kind):
            found.append(word)
            continue
        if (match := _GLUED.match(word)) and layout.can_be(match[1], kind):
            found.append(match[1])
        break
    return " ".join(found)


def _end(text: str, piece: str) -> int:
    """Where the last of some words ends in the text that they are from."""
    end = 0
    for word in piece.split():
        end = text.index(word, end) + len(word)
    return end


def _is_whole(text: str, columns: Columns) -> bool:
    """Whether a text has the fields of a row, and nothing else."""
    words = text.split()
    if columns.has_timestamp:
        return len(words) >= layout.width(columns)
    kinds = layout.kinds(columns)
    return len(words) == len(kinds) and all(map(layout.can_be, words, kinds))


def _has_one_bad_cell(text: str, columns: Columns) -> bool:
    kinds, words = layout.kinds(columns), text.split()
    return len(words) == len(kinds) and sum(map(layout.can_be, words, kinds)) == len(kinds) - 1


def _is_beginning(text: str, columns: Columns) -> bool:
    kinds = layout.kinds(columns)
    words = text.split()
    return len(words) <= len(kinds) and all(map(layout.can_be, words, kinds))


def _row(text: str, columns: Columns, where: str) -> Row | None:
    """The row that joined pieces are, if its numbers fit each other."""
    if not _is_whole(text, columns):
        return None
    try:
        row = layout.row(text, columns, where)
    except BadInput:
        return None
    return row if layout.fits(row, columns) else None


def _lose(found: TornTable, pending: _Open) -> None:
    found.lost.append((pending.line, pending.ways[0]))


def size_of(text: str) -> int | None:
    """The bytes that what is left of a row begins with."""
    word = text.split()[0]
    return int(word) if printed(word) is not None and word.isdecimal() else None
