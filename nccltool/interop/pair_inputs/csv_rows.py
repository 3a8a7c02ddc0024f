"""Pairs as rows of a text: two nodes, their bandwidth, and perhaps a round and a rail.

Any of `, ; | tab` or blanks separate the cells. Without a heading the columns are a, b, busbw, round, rail, and
bandwidths are in GB/s; a unit can stand in the heading or behind each number.
"""

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nccltool.core.text import listed, shortened
from nccltool.core.units import RATES
from nccltool.interop.pair_inputs.base import LONGEST_NAME, MOST, PairFile, members, refuse
from nccltool.localize.encounter import Encounter

_SENDERS = frozenset(("src", "source", "from", "sender"))
_NUMBERED = ("node", "host", "hostname", "server", "n", "h")
_OF_A = ("a", "node", "host", "left", "client", "x")
_OF_B = ("b", "peer", "partner", "right", "dst", "dest", "destination", "to", "receiver", "target", "y")
_RATE = ("busbw", "bandwidth", "throughput", "avgbusbw", "algbw", "value", "rate", "bw")
_ALIASES: Mapping[str, frozenset[str]] = {
    "a": _SENDERS.union(_OF_A, (f"{word}{one}" for word in _NUMBERED for one in "a1")),
    "b": frozenset(_OF_B).union(f"{word}{one}" for word in _NUMBERED for one in "b2"),
    "busbw": frozenset(_RATE),
    "round": frozenset(("round", "step", "iteration")),
    "rail": frozenset(("rail", "nic", "hca", "device", "port")),
    "reason": frozenset(("reason", "error", "note")),
}
_PLAIN: Mapping[str, float] = {"gbs": 1e9, "mbs": 1e6, "gibs": 2.0**30, "mibs": 2.0**20, "bytespers": 1.0}
"""Units as names of columns have them."""
_UNITS: Mapping[str, float] = {
    unit.casefold(): factor for unit, factor in (*RATES.items(), *_PLAIN.items()) if "b/" not in unit
} | {"b/s": 1.0}
"""In small letters, without those that could be bytes or bits."""
_AMBIGUOUS = frozenset(f"{word}b{per}" for word in "kmgt" for per in ("/s", "ps"))
_HEADING_UNIT = re.compile(r"^(.{0,100}?)[\s_]{0,9}[(\[]([^)\]]{1,40})[)\]]$")
"""Bounded, since the time of a search without bounds grows with the square of a cell."""
_CELL = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*([A-Za-z/]*)", re.ASCII)
_NOTHING = frozenset(
    {"", "-", "--", "?", "na", "n/a", "none", "null", "nan", "+nan", "-nan", "fail", "failed", "failure"}
    | {"error", "timeout", "timed out", "hang", "hung", "dead", "inf", "+inf", "-inf"}
)
"""What people write where there is no number."""
_PLACES = ("a", "b", "busbw", "round", "rail")
_PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII).fullmatch
_MOST_RATE = 1e18
_DIGITS = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Columns:
    places: Mapping[str, int]
    factor: float | None
    """Bytes per second of one of the unit that the heading names; None = it names none."""
    is_directed: bool = False


@dataclass(slots=True)
class _Kept:
    encounters: list[Encounter] = field(default_factory=list)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    copies: int = 0

    def add(self, one: Encounter) -> None:
        first, second = one.members
        who = one.members if one.is_directed or first < second else (second, first)
        count = len(self.seen)
        self.seen.add((who, one.busbw_bytes_per_s, one.round, one.rail))
        if len(self.seen) == count:
            self.copies += 1
        else:
            self.encounters.append(one)


class _PlainRows:
    """What most rows are: names that were checked before, and a number. It remembers texts that come again."""

    def __init__(self, columns: _Columns) -> None:
        places = columns.places
        self._a, self._b, self._busbw = (places[name] for name in ("a", "b", "busbw"))
        self._round, self._rail = places.get("round"), places.get("rail")
        self._is_directed = columns.is_directed
        self._factor = columns.factor or 1e9
        self._last = max(places.values())
        self._names = _Names()
        self._rounds = _Rounds()

    def encounter(self, cells: Sequence[str]) -> Encounter | None:
        """None: the row is not plain, and is to be read with care."""
        if len(cells) <= self._last or not _PLAIN_NUMBER(cells[self._busbw]):
            return None
        a, b = self._names[cells[self._a]], self._names[cells[self._b]]
        number = 0 if self._round is None else self._rounds[cells[self._round]]
        rate = float(cells[self._busbw]) * self._factor
        if a is b or not a or not b or number is None or not 0 < rate <= _MOST_RATE:
            return None
        return Encounter(
            members=(a, b),
            busbw_bytes_per_s=rate,
            round=number,
            is_directed=self._is_directed,
            rail=None if self._rail is None else cells[self._rail] or None,
        )


class _Names(dict[str, str]):
    """One object for each name; empty where it can be none."""

    def __missing__(self, text: str) -> str:
        return self.setdefault(text, text if len(text) <= LONGEST_NAME else "")


class _Rounds(dict[str, int | None]):
    """None where it is no number of a round."""

    def __missing__(self, text: str) -> int | None:
        return self.setdefault(text, int(text or 0) if not text or _DIGITS.fullmatch(text) else None)


def read(content: str, where: str) -> PairFile:
    """The pairs in a text. Raises BadInput that names the line."""
    if "\0" in content or "\ufffd" in content:
        refuse(where, "it is not UTF-8 text")
    rows = _rows(content)
    first = next(rows, None)
    if first is None:
        refuse(where, "it is empty")
    number, cells = first
    columns = _heading(cells, f"{where}, line {number}")
    kept = _Kept()
    if columns is None:
        columns = _without_heading(cells, f"{where}, line {number}")
        kept.add(_encounter(cells, columns, f"{where}, line {number}"))
    plain = _PlainRows(columns)
    for number, cells in rows:
        if len(kept.encounters) >= MOST:
            refuse(where, f"more than {MOST} rows", "split the file")
        kept.add(plain.encounter(cells) or _encounter(cells, columns, f"{where}, line {number}"))
    if not kept.encounters:
        refuse(where, "no row below its heading")
    notes = (f"{where}: {kept.copies} identical rows counted once",) if kept.copies else ()
    return PairFile(encounters=tuple(kept.encounters), notes=notes)


def _quoted(text: str, between: str) -> list[str]:
    """Cells, some in quotes; of what no quotes can be, such as a cell of 128 KiB, as they stand."""
    try:
        return next(csv.reader([text], delimiter=between))
    except csv.Error:
        return text.split(between)


def _rows(content: str) -> Iterator[tuple[int, list[str]]]:
    """Lines with their cells: neither blank ones nor comments."""
    between = ""
    for number, line in enumerate(content.splitlines(), start=1):
        text = line.strip()
        if not text or text[0] == "#":
            continue
        between = between or _separator(text)
        if between == " ":
            cells = text.split()
            yield number, [*cells[:2], *_joined(cells[2:])]
        elif '"' in text:
            yield number, [cell.strip() for cell in _quoted(text, between)]
        else:
            cells = text.split(between)
            is_bare = " " not in text and text.isprintable()
            yield number, cells if is_bare else [cell.strip() for cell in cells]


def _separator(text: str) -> str:
    """The sign that makes three cells and more; `49,3` can be a number between others."""
    signs = [sign for sign in ";,\t|" if sign in text]
    return next((sign for sign in signs if text.count(sign) > 1), signs[0] if signs else " ")


def _number(cell: str) -> re.Match[str] | None:
    return _CELL.fullmatch(cell.replace(",", ".") if cell.count(",") == 1 else cell)


def _joined(cells: list[str]) -> list[str]:
    """`49.3 GB/s` between blanks is one cell."""
    if len(cells) > 1 and cells[1].casefold() in _UNITS.keys() | _AMBIGUOUS:
        return [" ".join(cells[:2]), *cells[2:]]
    return cells


def _heading(cells: Sequence[str], where: str) -> _Columns | None:
    """The columns that a heading names; None = this is none. Raises BadInput for one without a, b, and busbw."""
    named = [_name(cell, where) for cell in cells]
    places: dict[str, int] = {}
    for number, (name, _) in enumerate(named):
        known = next((key for key, words in _ALIASES.items() if name in words), None)
        if known:
            places.setdefault(known, number)
    is_row = len(cells) >= 3 and (_number(cells[2]) or cells[2].casefold() in _NOTHING)
    if {"a", "b", "busbw"} <= places.keys():
        factor = named[places["busbw"]][1]
        return _Columns(places=places, factor=factor, is_directed=named[places["a"]][0] in _SENDERS)
    if not is_row and len(cells) >= 3:
        found = listed(shortened(cell, 30) for cell in cells)
        remedy = "rename the columns, for example a,b,busbw"
        refuse(where, f"its columns are {found}; expected a, b, busbw", remedy)
    return None


def _name(cell: str, where: str) -> tuple[str, float | None]:
    """The name of a column as aliases have it, and the unit in it: `busbw (GB/s)`, `bw_gbit_s`."""
    match = _HEADING_UNIT.match(cell)
    if match:
        name, unit = re.sub(r"[\s_.-]", "", match[1]).casefold(), match[2].strip()
        return name, _factor(unit, where) if name in _ALIASES["busbw"] else None
    plain = re.sub(r"[\s_.-]", "", cell)
    low = plain.casefold()
    for word in sorted(_ALIASES["busbw"], key=len, reverse=True):
        unit = plain.removeprefix(word) if low.startswith(word) else ""
        if unit and (unit in RATES or unit.casefold() in _UNITS.keys() | _AMBIGUOUS):
            return word, _factor(unit, where)
    return low, None


def _factor(unit: str, where: str) -> float:
    """Bytes per second of a unit. Raises BadInput for one that is not known or could be two."""
    if unit in RATES:
        return RATES[unit]
    small = unit.casefold()
    if small in _AMBIGUOUS:
        refuse(where, f"the unit {shortened(unit, 20)} could be bytes or bits", "write GB/s or Gbit/s")
    if small not in _UNITS:
        refuse(where, f"{shortened(unit, 20)} is not a unit of bandwidth", "write GB/s or Gbit/s")
    return _UNITS[small]


def _without_heading(cells: Sequence[str], where: str) -> _Columns:
    if not 3 <= len(cells) <= len(_PLACES):
        refuse(where, f"expected a,b,busbw, found {shortened(','.join(cells), 60)}")
    return _Columns(places=dict(zip(_PLACES, range(len(cells)), strict=False)), factor=None)


def _encounter(cells: Sequence[str], columns: _Columns, where: str) -> Encounter:
    places = columns.places
    needed = max(places[name] for name in ("a", "b", "busbw"))
    if len(cells) <= needed:
        refuse(where, f"expected {needed + 1} columns, found {len(cells)}", "complete or remove this row")
    given = {name: cells[place] for name, place in places.items() if place < len(cells)}
    rate, reason = _rate(given["busbw"], columns.factor, where)
    return Encounter(
        members=members(where, (given["a"], given["b"])),
        busbw_bytes_per_s=rate,
        round=_round(given.get("round", ""), where),
        is_directed=columns.is_directed,
        rail=given.get("rail") or None,
        reason=(given.get("reason") or reason) if rate is None else None,
    )


def _rate(text: str, factor: float | None, where: str) -> tuple[float | None, str | None]:
    """Bytes per second, or why there is no number. Raises BadInput."""
    if text.casefold() in _NOTHING:
        return None, text or "no value"
    match = _number(text)
    if match is None:
        refuse(where, f"{shortened(text, 40)!r} is not a bandwidth", "write a number, in GB/s or with its unit")
    rate = float(match[1]) * (_factor(match[2], where) if match[2] else factor or 1e9)
    if rate < 0:
        refuse(where, f"the bandwidth {shortened(text, 40)} is negative", "correct or remove this row")
    if not math.isfinite(rate) or rate > _MOST_RATE:
        refuse(where, f"the bandwidth {shortened(text, 40)} is too large", "correct or remove this row")
    return (rate, None) if rate else (None, "bandwidth 0")


def _round(text: str, where: str) -> int:
    if not text:
        return 0
    if not _DIGITS.fullmatch(text):
        refuse(where, f"{shortened(text, 40)!r} is not the number of a round", "write a whole number")
    return int(text)
