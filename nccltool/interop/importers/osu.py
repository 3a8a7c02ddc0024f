"""What the OSU micro-benchmarks print (mpi/ and xccl/ of versions 3 to 7): pairs of ranks and collectives.

The title names the test, `# Size` heads the columns, and a row has a size, a mean over ranks in microseconds or a
rate in 10^6 B/s, and with -f, -c, and tail options more columns. There is no footer: sizes double from row to row.
Sizes of all-gather, all-to-all, gather, and scatter are those of one rank's part (osu_allgather.c and others).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NoReturn

from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.interop.importers import rates
from nccltool.interop.importers.base import Half, Report, Row, Told, refuse, world_size
from nccltool.interop.importers.base import operation as operation_of
from nccltool.probe import collectives

_MARK = re.compile(r"^# OSU \S", re.MULTILINE)
_TITLE = re.compile(
    r"# OSU (?P<api>MPI|NCCL|RCCL)(?P<call>_Put|_Get)?(?:-(?P<memory>[A-Z]+)(?: MANAGED)?)? (?P<test>\S.*?) Test"
    r"(?: v(?P<version>\S+))?\s*"
)
_HEADING = re.compile(r"# Size\s")
_DATATYPE = re.compile(r"# Datatype: (\S+?)\.?\s*")
_PAIRS = re.compile(r"# \[ pairs: (\d{1,6}) \]")
_MEMORY = re.compile(r"# .*Memory on .*(?:DEVICE|MANAGED)")
_VERDICTS = ("Pass", "Fail")
_TYPES = {
    "MPI_CHAR": ("int8", 1),
    "MPI_INT": ("int32", 4),
    "MPI_FLOAT": ("float32", 4),
    "MPI_DOUBLE": ("float64", 8),
}
_TIMES = ("Latency (us)", "Avg Latency(us)", "Latency(us)", "Pure Comm.(us)")
_LEAST = ("Min Latency(us)", "Min Comm.(us)")
_MOST = ("Max Latency(us)", "Max Comm.(us)")
_RATES = ("Bandwidth (MB/s)", "MB/s")


@dataclass(frozen=True, slots=True)
class _Kind:
    op: str
    parts: bool = False
    """The printed size is that of one rank's part."""
    share: float = 1.0
    """The part of the printed rate that goes one way."""
    ranks: int | None = None
    """None = the file does not tell."""
    note: str = ""


_ONE_DIRECTION = "data went in one direction; send_recv of nccltool exchanges in both at once and can be slower"
_BOTH = "the printed rate is the sum of both directions; the imported one is that of one direction"
_ONE_SIDED = "the other side takes no part in one-sided transfers"
_NON_BLOCKING = "the call is a non-blocking one, timed with its wait and without the computation between them"
_KINDS = {
    "Latency": _Kind("ping_pong", ranks=2),
    "Multi Latency": _Kind("ping_pong"),
    "Bandwidth": _Kind("send_recv", ranks=2, note=_ONE_DIRECTION),
    "Bi-Directional Bandwidth": _Kind("send_recv", share=0.5, ranks=2, note=_BOTH),
    "Multiple Bandwidth / Message Rate": _Kind("send_recv", note=_ONE_DIRECTION),
    "Allreduce Latency": _Kind("all_reduce"),
    "Reduce Latency": _Kind("reduce"),
    "Broadcast Latency": _Kind("broadcast"),
    "Reduce_scatter Latency": _Kind("reduce_scatter"),
    "Reduce_scatter_block Latency": _Kind("reduce_scatter"),
    "Allgather Latency": _Kind("all_gather", parts=True),
    "Gather Latency": _Kind("gather", parts=True),
    "Scatter Latency": _Kind("scatter", parts=True),
    "All-to-All Personalized Exchange Latency": _Kind("all_to_all", parts=True),
    "All-to-All Latency": _Kind("all_to_all", parts=True),
    "_Put Bandwidth": _Kind("send_recv", ranks=2, note=f"{_ONE_DIRECTION}; {_ONE_SIDED}"),
    "_Get Bandwidth": _Kind("send_recv", ranks=2, note=f"{_ONE_DIRECTION}; {_ONE_SIDED}"),
    "_Put Bi-directional Bandwidth": _Kind("send_recv", share=0.5, ranks=2, note=f"{_BOTH}; {_ONE_SIDED}"),
}
"""Titles without "OSU MPI" and "Test"; persistent requests run the same operation."""
_STARTED = re.compile(r"non-blocking ", re.IGNORECASE)


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a text. Raises BadInput."""
    text = rates.lines(content)
    sections = list(_sections(text.whole, where))
    known = [section for section in sections if section.kind and section.rows]
    if not known:
        _refuse(sections, where)
    strange = [section.title for section in sections if not section.kind]
    several = len(known) > 1
    reports = [section.report(where, told, several) for section in known]
    extra = _of_file(where, strange, text.cut, sections)
    return (*reports[:-1], replace(reports[-1], found=(*reports[-1].found, *extra)))


def _refuse(sections: list["_Section"], where: str) -> NoReturn:
    strange = [section for section in sections if not section.kind]
    titles = ", ".join(dict.fromkeys(section.title for section in strange or sections))
    if strange:
        remedy = "omit this file; `nccltool help import` names the tests that can be imported"
        refuse(where, f"nccltool has no operation for {titles}", remedy)
    refuse(where, f"it ends before the first row of {titles}")


def _of_file(where: str, strange: list[str], cut: int | None, sections: list["_Section"]) -> tuple[Finding, ...]:
    found = []
    if strange:
        found.append(
            rates.left_out(
                "OSU", f"{counted(len(strange), 'test')} left out: nccltool has no such operation", strange
            )
        )
    if cut is not None:
        found.append(rates.cut(where, f"it ends inside line {cut}"))
    empty = [section.title for section in sections if section.kind and not section.rows]
    if empty:
        found.append(rates.cut(where, f"{counted(len(empty), 'test')} without a complete row", empty))
    return tuple(found)


@dataclass(slots=True)
class _Section:
    """One test as far as it has been read."""

    file: str
    line: int
    title: str
    api: str
    accelerator: str | None
    version: str | None
    kind: _Kind | None
    columns: tuple[str, ...] = ()
    dtype: str | None = None
    pairs: int | None = None
    on_device: bool = False
    rows: list[tuple[int, str | None, dict[str, str]]] = field(default_factory=list)
    """(line, datatype, cells)"""
    torn: list[str] = field(default_factory=list)

    def report(self, where: str, told: Told, several: bool) -> Report:
        kind = self.kind
        assert kind is not None
        place = f"{where}, line {self.line}" if several else where
        found = 2 * self.pairs if self.pairs else kind.ranks
        size = found or world_size(None, told, place)
        op = operation_of(kind.op, told, place)
        failed: list[str] = []
        rows = [row for row in (self._row(entry, kind, size, failed) for entry in self.rows) if row]
        return Report(
            where=place,
            tool=f"OSU micro-benchmarks {self.version or ''}".strip(),
            op=op,
            world_size=size,
            backend="mpi" if self.api == "MPI" else "nccl",
            cadence="stream" if collectives.get(op).is_point_to_point else "isolated",
            rows=tuple(rows),
            said=(f"{self.title} over {self._path()}", *filter(None, (self._parts(kind, size),))),
            times="times are means over iterations and over ranks",
            found=tuple(self._found(kind, op, place, failed)),
        )

    def _path(self) -> str:
        memory = "GPU memory" if self.on_device or self.accelerator or self.api != "MPI" else "host memory"
        return f"{self.api}, {memory}"

    def _parts(self, kind: _Kind, size: int) -> str:
        return (
            f"sizes are the printed ones, of one rank's part, times {counted(size, 'rank')}" if kind.parts else ""
        )

    def _found(self, kind: _Kind, op: str, place: str, failed: list[str]) -> Iterator[Finding]:
        if failed:
            yield rates.failed_data(place, op, failed)
        if self.torn:
            yield rates.cut(place, f"{counted(len(self.torn), 'row')} cannot be read", self.torn)
        if gaps := list(self._gaps()):
            yield rates.cut(place, "sizes double from row to row, and some are missing", gaps)
        if self.api == "MPI":
            yield rates.another_test(
                place,
                f"{op} of OSU ran over MPI ({self._path()}), not over NCCL: compare it with care",
                kind.note,
            )
        elif kind.note:
            yield rates.another_test(place, f"{op} of OSU: {kind.note}")

    def _gaps(self) -> Iterator[str]:
        before: tuple[str | None, int] | None = None
        for line, dtype, cells in self.rows:
            size = int(cells["# Size"])
            if before and before[0] == dtype and before[1] and size > before[1] and size != 2 * before[1]:
                yield f"line {line}: {size} B follow {before[1]} B"
            before = (dtype, size)

    def _row(
        self, entry: tuple[int, str | None, dict[str, str]], kind: _Kind, ranks: int, failed: list[str]
    ) -> Row | None:
        line, datatype, cells = entry
        size = int(cells["# Size"]) * (ranks if kind.parts else 1)
        place = f"{self.file}, line {line}"
        if cells.get("Validation") == "Fail":
            failed.append(f"{place}, {kind.op} at {size} B")
            return None
        reduces = collectives.get(kind.op).reduces
        dtype, width = _TYPES.get(datatype or ("MPI_FLOAT" if reduces else "MPI_CHAR"), rates.UNKNOWN_DTYPE)
        return Row(
            where=place,
            bytes=size,
            count=None,
            dtype=dtype,
            element_size=width if size % width == 0 else 1,
            reduce_op="sum" if reduces else None,
            root=None,
            halves=(self._half(cells, kind, ranks, size),),
        )

    def _half(self, cells: dict[str, str], kind: _Kind, ranks: int, size: int) -> Half:
        iterations = rates.whole_bytes(cells.get("Iterations", ""))
        value = next(cells[name] for name in (*_TIMES, *_RATES) if name in cells)
        number = rates.number(value)
        assert number is not None  # else the row is torn
        if any(name in cells for name in _TIMES):
            return rates.of_time(
                kind.op,
                ranks,
                size,
                number,
                placement="in-place" if kind.op == "broadcast" else "out-of-place",
                min_us=_cell(cells, *_LEAST),
                max_us=_cell(cells, *_MOST),
                p99_us=_cell(cells, "P99 Tail Lat(us)"),
                wrong=0 if cells.get("Validation") == "Pass" else None,
                iterations=iterations,
            )
        share = rates.MEGABYTES * kind.share / (self.pairs or 1)
        return rates.of_rate(kind.op, ranks, size, rates.scaled(number, share), iterations=iterations)


def _cell(cells: dict[str, str], *names: str) -> float | None:
    """The number in the first of these columns that there is."""
    number = next((rates.number(cells[name]) for name in names if name in cells), None)
    return number.value if number and math.isfinite(number.value) else None


def _sections(text: tuple[tuple[int, str], ...], file: str) -> Iterator[_Section]:
    section: _Section | None = None
    for number, line in text:
        if title := _TITLE.fullmatch(line):
            if section:
                yield section
            section = _begun(title, number, file)
        elif _MARK.match(line):  # a title of another kind, such as one-sided tests
            if section:
                yield section
            section = _Section(file, number, line[2:].strip(), "MPI", None, None, None)
        elif section and section.kind:
            _take(section, number, line)
    if section:
        yield section


def _begun(title: re.Match[str], number: int, file: str) -> _Section:
    name = " ".join(filter(None, (title["call"], title["test"].replace(" Persistent", ""))))
    kind = _KINDS.get(_STARTED.sub("", name, count=1))
    if kind and _STARTED.match(name):
        kind = replace(kind, note=_NON_BLOCKING)
    return _Section(file, number, title[0][2:].strip(), title["api"], title["memory"], title["version"], kind)


def _take(section: _Section, number: int, line: str) -> None:
    if line.startswith("#"):
        _take_comment(section, line)
    elif section.columns and rates.looks_like_numbers(line, _VERDICTS):
        cells = dict(zip(section.columns, line.split(), strict=False))
        if _is_row(cells, section.columns, line):
            section.rows.append((number, section.dtype, cells))
        else:
            section.torn.append(f"line {number}: {line.strip()[:80]}")


def _take_comment(section: _Section, line: str) -> None:
    if _HEADING.match(line):
        columns = tuple(re.split(r"\s{2,}", line.strip()))
        section.columns = columns if set(columns) & {*_TIMES, *_RATES} else ()
    elif match := _DATATYPE.fullmatch(line):
        section.dtype = match[1]
    elif match := _PAIRS.match(line):
        section.pairs = int(match[1])
    elif _MEMORY.match(line):
        section.on_device = True


def _is_row(cells: dict[str, str], columns: tuple[str, ...], line: str) -> bool:
    if len(line.split()) != len(columns) or rates.whole_bytes(cells["# Size"]) is None:
        return False
    if "Validation" in cells and cells["Validation"] not in _VERDICTS:
        return False
    return all(rates.number(text) for name, text in cells.items() if name not in ("# Size", "Validation"))
