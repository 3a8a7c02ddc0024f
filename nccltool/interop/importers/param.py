"""What PARAM's comms.py prints (train/comms/pt), also over torchcomms: lines of COMMS-RES.

The time is the 50th percentile over ranks of each rank's mean, in microseconds; algbw and busbw are made of it
with the factors of nccl-tests (pytorch_backend_utils.py), and sizes are those of all ranks for operations that
gather or scatter. Point to point: the latency there and back, and rates of one direction and of both in GB/s.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.interop.importers import rates
from nccltool.interop.importers.base import Half, Printed, Report, Row, Told, operation, refuse, world_size
from nccltool.probe import collectives

_MARK = re.compile(r"\bCOMMS-RES[-\s]")
_ROW = re.compile(
    r"\bCOMMS-RES-(\w+)-(float32|float16|bfloat16|float64|int32|int64|int8|uint8|[a-z]\w*)(\S*)\s+(.*)"
)
_WORLD = re.compile(r"'world_size': (\d{1,7})\b")
_BACKEND = re.compile(r"\bbackend: (\w+) nw-stack: (\S+)(?:.*\bargs\.z: (\d))?")
_TYPES = {
    "float32": ("float32", 4),
    "float": ("float32", 4),
    "float16": ("float16", 2),
    "half": ("float16", 2),
    "bfloat16": ("bfloat16", 2),
    "float64": ("float64", 8),
    "double": ("float64", 8),
    "int32": ("int32", 4),
    "int": ("int32", 4),
    "int64": ("int64", 8),
    "long": ("int64", 8),
    "int8": ("int8", 1),
    "char": ("int8", 1),
    "uint8": ("uint8", 1),
}
_OPS = {
    "all_to_all_single": "all_to_all",
    "all_gather_base": "all_gather",
    "reduce_scatter_base": "reduce_scatter",
    **{op: op for op in collectives.NAMES},
}
_COLLECTIVE = ("size", "count", "p50", "p75", "p95", "min", "max", "algbw", "busbw")
"""Newer versions add the total time."""
_PAIR = ("size", "p50", "p75", "p95", "round p50", "round p75", "round p95", "uni", "bi", "total uni", "total bi")


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a text, one for each operation in a row. Raises BadInput."""
    text = rates.lines(content)
    session = _Session(where)
    for number, line in text.whole:
        session.take(number, line)
    if not session.rows:
        what = ", ".join(dict.fromkeys(session.strange)) or "no results"
        refuse(where, f"PARAM's output has {what}, and no operation that nccltool knows")
    reports = list(session.reports(told))
    found = (*reports[-1].found, *session.found(text.cut))
    return (*reports[:-1], replace(reports[-1], found=found))


@dataclass(frozen=True, slots=True)
class _Line:
    """A row: PARAM's operation, its type, and its cells."""

    number: int
    name: str
    dtype: str
    cells: dict[str, Printed]
    size: int


@dataclass(slots=True)
class _Session:
    """One run of comms.py as far as it has been read."""

    where: str
    ranks: int | None = None
    backend: str | None = None
    stack: str | None = None
    waits: bool = False
    """Each call was waited for (--z 1)."""
    rows: list[_Line] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)

    def take(self, number: int, line: str) -> None:
        if match := _WORLD.search(line):
            self.ranks = self.ranks or int(match[1])
        elif match := _BACKEND.search(line):
            self.backend, self.stack, self.waits = match[1], match[2], match[3] == "1"
        elif "COMMS-RES-QUANT-" in line:
            self.strange.append("quantized collectives")
        elif match := _ROW.search(line):
            self._take_row(number, match)

    def _take_row(self, number: int, match: re.Match[str]) -> None:
        name, dtype, _, rest = match.groups()
        if name != "pt2pt" and name not in _OPS:
            self.strange.append(name)
            return
        texts = rest.split()
        names = _PAIR if name == "pt2pt" else _COLLECTIVE
        numbers = [rates.number(text) for text in texts]
        cells = {key: found for key, found in zip(names, numbers, strict=False) if found}
        size = rates.whole_bytes(texts[0]) if texts else None
        if size is None or dtype not in _TYPES or len(cells) != len(names) or len(texts) > len(names) + 1:
            self.torn.append(f"line {number}: {match[0].strip()[:80]}")
        else:
            self.rows.append(_Line(number, name, dtype, cells, size))

    def reports(self, told: Told) -> Iterator[Report]:
        several = len({line.name for line in self.rows}) > 1 or self.rows[0].name == "pt2pt"
        given = told if not several else replace(told, op=None)
        size = world_size(self.ranks, told, self.where)
        for name in dict.fromkeys(line.name for line in self.rows):
            lines = [line for line in self.rows if line.name == name]
            for op in ("ping_pong", "send_recv") if name == "pt2pt" else (_OPS[name],):
                yield self._report(operation(op, given, self.where), 2 if name == "pt2pt" else size, name, lines)

    def _report(self, op: str, size: int, name: str, lines: list[_Line]) -> Report:
        return Report(
            where=self.where,
            tool=f"PARAM comms.py ({self.stack})" if self.stack else "PARAM comms.py",
            op=op,
            world_size=size,
            backend=self.backend or "unknown",
            cadence="isolated" if self.waits else "stream",
            rows=tuple(self._row(op, size, line) for line in lines),
            said=(f"{name} over {self.backend or 'an unknown backend'}",),
            times="times are medians over ranks of each rank's mean; least and most are those of ranks",
        )

    def _row(self, op: str, ranks: int, line: _Line) -> Row:
        dtype, width = _TYPES[line.dtype]
        return Row(
            where=f"{self.where}, line {line.number}",
            bytes=line.size,
            count=None,
            dtype=dtype,
            element_size=width if line.size % width == 0 else 1,
            reduce_op="sum" if collectives.get(op).reduces else None,
            root=None,
            halves=(_half(op, ranks, line),),
        )

    def found(self, cut: int | None) -> Iterator[Finding]:
        if self.torn:
            yield rates.cut(self.where, f"{counted(len(self.torn), 'row')} cannot be read", self.torn)
        if cut is not None:
            yield rates.cut(self.where, f"it ends inside line {cut}")
        if self.strange:
            message = f"{counted(len(self.strange), 'row')} left out: nccltool has no such operation"
            yield rates.left_out("PARAM", message, tuple(dict.fromkeys(self.strange)))


def _half(op: str, ranks: int, line: _Line) -> Half:
    cells = line.cells
    if line.name != "pt2pt":
        half = rates.of_time(
            op, ranks, line.size, cells["p50"], min_us=cells["min"].value, max_us=cells["max"].value
        )
        return replace(half, algbw=cells["algbw"], busbw=cells["busbw"])
    if op == "ping_pong":  # half of there and back
        return rates.of_time(op, ranks, line.size, rates.scaled(cells["round p50"], 0.5))
    return rates.of_rate(op, ranks, line.size, rates.scaled(cells["bi"], 0.5))
