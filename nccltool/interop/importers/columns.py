"""The columns of a table of nccl-tests, from its three lines of headings, and its rows by them.

Layouts differ: without redop and root before 2.13, `error` for #wrong before 2.12, cputime with -C 1, four i_*
columns more with -I 1, a timestamp of two words with -S 1; rccl-tests can print one placement only, its choice
of algorithm (-A 1), and times of HIP events.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nccltool.interop.importers.base import (
    Half,
    Printed,
    Row,
    bandwidth_fits,
    element_type,
    is_reduction,
    printed,
    reduction,
    refuse,
)
from nccltool.probe import nccl_tests
from nccltool.probe.result import Placement

_FIRST = (("size", "count", "type"), ("redop", "root"))
_TIMES = ("time", "cputime")
_CHECKS = ("#wrong", "error")
_OF_HALF = (*_TIMES, "hipevt", "algbw", "busbw", *_CHECKS, "i_min", "i_max", "i_p99", "i_cv%")
_LAST = ("algo", "proto", "nchannels", "timestamp")
_UNIT_OF = {
    "size": "(B)",
    "count": "(elements)",
    "algbw": "(GB/s)",
    "busbw": "(GB/s)",
    **dict.fromkeys((*_TIMES, "hipevt", "i_min", "i_max", "i_p99"), "(us)"),
    "i_cv%": "(%)",
}
_TIMESTAMP = re.compile(r"\s(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?=\s|$)", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}|-1", re.ASCII)
_PLACEMENTS: tuple[Placement, ...] = ("out-of-place", "in-place")


@dataclass(frozen=True, slots=True)
class Columns:
    """What the fields of a row are."""

    first: tuple[str, ...]
    half: tuple[str, ...]
    placements: tuple[Placement, ...]
    last: tuple[str, ...]
    has_timestamp: bool


def is_heading(line: str) -> bool:
    """Whether a comment is the line that names the columns."""
    return line[1:].split()[:1] == ["size"]


def placements(line: str) -> tuple[Placement, ...]:
    """The placements that a comment names, if it is the line above the heading."""
    rest = line[1:].replace("(+ per-iteration)", "").split()
    return tuple(word for word in _PLACEMENTS if word in rest) if set(rest) <= set(_PLACEMENTS) else ()


def from_heading(line: str, above: Sequence[Placement], where: str) -> Columns:
    """The columns that a heading names, under the placements of the line above it."""
    words = line[1:].split()
    unknown = [word for word in words if word not in (*_FIRST[0], *_FIRST[1], *_OF_HALF, *_LAST)]
    if unknown:
        refuse(
            where,
            f"unknown column {unknown[0]!r}",
            "this version of nccltool reads the layouts of nccl-tests 2.0 to 2.19",
        )
    count = sum(words.count(word) for word in _TIMES)
    above = above or _PLACEMENTS[:count]
    if count != len(above):
        refuse(where, f"{count} columns of times under {len(above)} placements; expected one for each")
    first = words[: next(index for index, word in enumerate(words) if word in _TIMES)]
    last = words[len(first) :]
    half: list[str] = []
    while last and last[0] in _OF_HALF and last[0] not in half:
        half.append(last.pop(0))
    for _ in range(count - 1):
        again, last = last[: len(half)], last[len(half) :]
        if again != half:
            refuse(where, f"columns of one placement are {half}, of the other {again}; expected the same")
    _check(first, half, last, where)
    tail = tuple(word for word in last if word != "timestamp")
    return Columns(tuple(first), tuple(half), tuple(above), tail, "timestamp" in last)


def _check(first: list[str], half: list[str], last: list[str], where: str) -> None:
    right = first == [*_FIRST[0], *(word for word in _FIRST[1] if word in first)]
    right = right and {"algbw", "busbw"} <= set(half) and sum(half.count(word) for word in _CHECKS) == 1
    if not right or last != [word for word in _LAST if word in last]:
        wanted = "expected size count type redop root, then time algbw busbw #wrong for each placement"
        refuse(where, f"unknown order of columns; {wanted}")


def are_units(line: str) -> bool:
    """Whether a comment is a line of units, or the beginning of one."""
    return line[1:].split()[:1] == ["(B)"]


def check_units(line: str, columns: Columns, where: str) -> None:
    names = (*columns.first, *columns.half * len(columns.placements))
    wanted = [_UNIT_OF[name] for name in names if name in _UNIT_OF]
    words = line[1:].split()
    if words[: len(wanted)] != wanted[: len(words)]:
        refuse(where, f"expected the units {' '.join(wanted)}, found {' '.join(words) or 'none'}")


def narrower(columns: Columns) -> Iterator[Columns]:
    """The layouts of rows that leave fields of their heading empty.

    Operations that do not reduce have no reduction before 2.12; forks print one placement only.
    """
    single = replace(columns, placements=columns.placements[:1])
    unreduced = replace(columns, first=tuple(name for name in columns.first if name != "redop"))
    if unreduced != columns:
        yield unreduced
    if single != columns:
        yield single
        if unreduced != columns:
            yield replace(unreduced, placements=single.placements)


def kinds(columns: Columns) -> tuple[str, ...]:
    """What each field of a row is, by the name of its column."""
    return (*columns.first, *columns.half * len(columns.placements), *columns.last)


def width(columns: Columns) -> int:
    """The fields of a row, without its timestamp."""
    return len(kinds(columns))


def can_be(word: str, name: str) -> bool:
    """Whether a word can stand in a column."""
    if name == "type":
        return word in nccl_tests.TYPES
    if name == "redop":
        return is_reduction(word)
    if name in ("size", "count", "root"):
        return _WHOLE.fullmatch(word) is not None and (word != "-1" or name == "root")
    if name in _CHECKS and word == "N/A":
        return True
    return name in ("algo", "proto", "nchannels") or printed(word) is not None


def fits(found: Row, columns: Columns) -> bool:
    """Whether the bandwidths of a row are those of its size and times, as far as they are made of them."""
    if "cputime" in columns.half:
        return False
    return all(bandwidth_fits(found.bytes, half) for half in found.halves)


def row(line: str, columns: Columns, where: str) -> Row:
    """A row. Raises BadInput when it is not one."""
    fields = _fields(line, columns, where)
    cells = dict(zip(columns.first, fields, strict=False))
    dtype, element_size = element_type(cells["type"], where)
    root = _whole(cells, "root", where) if "root" in cells else -1
    start, width = len(columns.first), len(columns.half)
    halves = [
        _half(fields[start + index * width : start + (index + 1) * width], columns.half, placement, where)
        for index, placement in enumerate(columns.placements)
    ]
    return Row(
        where=where,
        bytes=_whole(cells, "size", where),
        count=_whole(cells, "count", where),
        dtype=dtype,
        element_size=element_size,
        reduce_op=reduction(cells["redop"], where) if "redop" in cells else None,
        root=None if root < 0 else root,
        halves=tuple(halves),
    )


def _fields(line: str, columns: Columns, where: str) -> list[str]:
    if columns.has_timestamp:
        line, count = _TIMESTAMP.subn("", line)
        if count != 1:
            refuse(where, "the row has no timestamp; expected one, as its heading says")
    fields = line.split()
    wanted = len(columns.first) + len(columns.half) * len(columns.placements) + len(columns.last)
    if len(fields) != wanted:
        refuse(where, f"the row has {len(fields)} fields; expected {wanted}, as its heading says")
    return fields


def _whole(cells: Mapping[str, str], name: str, where: str) -> int:
    text = cells[name]
    if not _WHOLE.fullmatch(text) or (text == "-1" and name != "root"):
        refuse(where, f"{name} {text!r} is not a whole number")
    return int(text)


def _half(fields: Sequence[str], names: Sequence[str], placement: Placement, where: str) -> Half:
    cells = dict(zip(names, fields, strict=True))
    numbers = {name: _number(cells, name, where) for name in names if name not in (*_CHECKS, "hipevt")}
    check = "#wrong" if "#wrong" in cells else "error"
    elements = None if cells[check] == "N/A" else _number(cells, check, where).value
    least, most, tail = (numbers[name].value if name in numbers else None for name in ("i_min", "i_max", "i_p99"))
    return Half(
        placement=placement,
        time=numbers["cputime" if "cputime" in numbers else "time"],
        algbw=numbers["algbw"],
        busbw=numbers["busbw"],
        # an error of 0 is no wrong element; how many elements a larger one stands for is not said
        wrong=None if elements is None or (check == "error" and elements) else int(elements),
        min_us=least,
        max_us=most,
        p99_us=tail,
    )


def _number(cells: Mapping[str, str], name: str, where: str) -> Printed:
    number = printed(cells[name])
    if number is None or number.value < 0 or (name in _CHECKS and number.value != number.value):
        refuse(where, f"{name} {cells[name]!r} is not a number")
    return number
