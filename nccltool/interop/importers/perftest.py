"""What perftest prints (ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat, ib_send_lat, and their kin).

The heading names the unit. MB/sec (before 4.5) and MiB/sec are 2^20 B/s, Gb/sec are 10^9 bit/s
(perftest_parameters.c, format_factor). Latencies of writes and sends are half of a round trip; those of reads and
atomics are whole ones, and no operation of nccltool. A bidirectional rate is the sum of both directions.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.interop.importers import rates
from nccltool.interop.importers.base import Half, Printed, Report, Row, Told, operation, refuse, world_size

_MARK = re.compile(r"^\s*#bytes\s", re.MULTILINE)
_TITLE = re.compile(r"\s+((?:RDMA_Write|RDMA_Read|Send|Atomic)(?:_imm)?\s(?:.*\s)?Test)\s*")
_COLUMN = re.compile(
    r"#bytes|#sl|#iterations|BW peak\[(?:MB|MiB|Gb)/sec\]|BW average\[(?:MB|MiB|Gb)/sec\]|MsgRate\[Mpps\]"
    r"|BW Port\d\[\w+/sec\]|MsgRate Port\d\[Mpps\]|CPU_Util\[%\]"
    r"|t_(?:min|max|typical|avg|stdev)\[usec\]|99(?:\.9)?% percentile\[usec\]|tps average"
)
_UNITS = {"MB": rates.MEBIBYTES, "MiB": rates.MEBIBYTES, "Gb": rates.GIGABITS}
_DEVICE = re.compile(r"\bDevice\s*: (\S+)")
_RANKS = 2
_ARITHMETIC = 1e-6
"""Relative error of perftest's arithmetic."""
TOOL = "perftest"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a title says of a test."""

    title: str

    @property
    def is_latency(self) -> bool:
        return "Latency" in self.title

    @property
    def is_round_trip(self) -> bool:
        """Reads and atomics: the answer is part of the time."""
        return self.is_latency and self.title.startswith(("RDMA_Read", "Atomic"))

    @property
    def is_both_ways(self) -> bool:
        return "Bidirectional" in self.title

    @property
    def op(self) -> str:
        return "ping_pong" if self.is_latency else "send_recv"


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a text. Raises BadInput."""
    text = rates.lines(content)
    sections = [section for section in _sections(text.whole, where) if section.columns]
    known = [section for section in sections if section.rows and not section.kind.is_round_trip]
    if not known:
        trips = any(section.kind.is_round_trip for section in sections)
        why = "nccltool has no operation for round-trip times" if trips else "it has no results"
        refuse(where, f"{why} ({', '.join(dict.fromkeys(one.kind.title for one in sections))})")
    reports = [section.report(where, told, len(known) > 1) for section in known]
    extra = tuple(_of_file(where, sections, text.cut))
    return (*reports[:-1], replace(reports[-1], found=(*reports[-1].found, *extra)))


def contradiction(size: int, rate: Printed, messages: Printed, unit: float) -> str | None:
    """What is wrong where a rate, in GB/s times `unit`, is not its messages times their size; None = nothing."""
    (least, most), (fewest, many) = rates.scaled(rate, unit).range, rates.scaled(messages, size / 1e3).range
    if least <= many * (1 + _ARITHMETIC) and fewest * (1 - _ARITHMETIC) <= most:
        return None
    return (
        f"BW average is {rate.value * unit:.4g} GB/s, but MsgRate {messages.value:g} Mpps x {size} B "
        f"is {messages.value * size / 1e3:.4g} GB/s"
    )


def report(
    kind: Kind,
    where: str,
    told: Told,
    rows: tuple[Row, ...],
    memory: str,
    said: str,
    torn: Sequence[str] = (),
    wrong: Sequence[str] = (),
) -> Report:
    """A test over one pair of hosts."""
    found = [
        rates.another_test(
            where,
            f"perftest moved {memory} over RDMA verbs, not over NCCL: it shows what the link can do",
            "data went in one direction; send_recv of nccltool exchanges in both at once and can be slower"
            if not kind.is_latency and not kind.is_both_ways
            else "",
            "the printed rate is the sum of both directions; the imported one is that of one direction"
            if kind.is_both_ways
            else "",
        )
    ]
    if wrong:
        found.append(rates.inconsistent(where, wrong))
    if torn:
        found.append(rates.cut(where, f"{counted(len(torn), 'row')} cannot be read", torn))
    return Report(
        where=where,
        tool=TOOL,
        op=operation(kind.op, told, where),
        world_size=world_size(_RANKS, told, where),
        backend="verbs",
        rows=rows,
        said=(said,),
        times="times are means over iterations" if kind.is_latency else "times are bytes divided by the mean rate",
        found=tuple(found),
    )


def row(where: str, size: int, half: Half) -> Row:
    """Bytes, of no type."""
    return Row(
        where=where,
        bytes=size,
        count=None,
        dtype="int8",
        element_size=1,
        reduce_op=None,
        root=None,
        halves=(half,),
    )


def rate(kind: Kind, size: int, printed: Printed, unit: float, iterations: int | None) -> Half:
    share = unit * (0.5 if kind.is_both_ways else 1.0)
    return rates.of_rate(kind.op, _RANKS, size, rates.scaled(printed, share), iterations=iterations)


def latency(kind: Kind, size: int, cells: Mapping[str, Printed], iterations: int | None) -> Half | None:
    """The half of t_avg, or of the median where older versions print no mean; None = neither is there."""
    mean = cells.get("t_avg", cells.get("t_typical"))
    if mean is None:
        return None
    least, most, tail = (cells[name].value if name in cells else None for name in ("t_min", "t_max", "p99"))
    return rates.of_time(
        kind.op, _RANKS, size, mean, min_us=least, max_us=most, p99_us=tail, iterations=iterations
    )


def _of_file(where: str, sections: list["_Section"], cut: int | None) -> Iterator[Finding]:
    trips = [section.kind.title for section in sections if section.kind.is_round_trip]
    if trips:
        yield rates.left_out(
            "perftest",
            f"{counted(len(trips), 'test')} left out: nccltool has no operation for round-trip times",
            trips,
        )
    if cut is not None:
        yield rates.cut(where, f"it ends inside line {cut}")


@dataclass(slots=True)
class _Section:
    file: str
    line: int
    kind: Kind
    device: str | None = None
    on_gpu: bool = False
    columns: tuple[str, ...] = ()
    unit: float = 0.0
    rows: list[Row] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Rates that are not their messages times their size."""

    def report(self, where: str, told: Told, several: bool) -> Report:
        place = f"{where}, line {self.line}" if several else where
        said = f"{self.kind.title}, device {self.device or 'unknown'}"
        memory = "GPU memory" if self.on_gpu else "host memory"
        return report(self.kind, place, told, tuple(self.rows), memory, said, self.torn, self.wrong)


def _sections(text: tuple[tuple[int, str], ...], file: str) -> Iterator[_Section]:
    section: _Section | None = None
    on_gpu = False
    for number, line in text:
        on_gpu = on_gpu or "CUDA" in line or "Use ROCm memory : ON" in line
        if title := _TITLE.fullmatch(line):
            if section:
                yield section
            section = _Section(file, number, Kind(" ".join(title[1].split())), on_gpu=on_gpu)
        elif section is None:
            if _MARK.match(line):
                refuse(f"{file}, line {number}", "the title of its test is missing above this heading")
        else:
            _take(section, number, line)
    if section:
        yield section


def _take(section: _Section, number: int, line: str) -> None:
    if match := _DEVICE.search(line):
        section.device = match[1]
    elif _MARK.match(line):
        section.columns = tuple(_COLUMN.findall(line))
        if strange := _COLUMN.sub("", line).split():
            refuse(f"{section.file}, line {number}", f"unknown column {strange[0]!r} of perftest")
        units = {match[1] for match in re.finditer(r"BW average\[(\w+)/sec\]", line)}
        section.unit = _UNITS[units.pop()] if units else 0.0
    elif section.columns and rates.looks_like_numbers(line):
        _take_row(section, number, line)


def _take_row(section: _Section, number: int, line: str) -> None:
    place = f"{section.file}, line {number}"
    texts = dict(zip(section.columns, line.split(), strict=False))
    cells = {_short(name): found for name, text in texts.items() if (found := rates.number(text))}
    size, iterations = (rates.whole_bytes(texts.get(name, "")) for name in ("#bytes", "#iterations"))
    half = None
    if size is not None and len(cells) == len(section.columns) == len(line.split()):
        if section.kind.is_latency:
            half = latency(section.kind, size, cells, iterations)
        elif "BW average" in cells and section.unit:
            half = rate(section.kind, size, cells["BW average"], section.unit, iterations)
            if "MsgRate" in cells and (
                problem := contradiction(size, cells["BW average"], cells["MsgRate"], section.unit)
            ):
                section.wrong.append(f"line {number}, {size} B: {problem}")
    if half is None or size is None:
        section.torn.append(f"line {number}: {line.strip()[:80]}")
    else:
        section.rows.append(row(place, size, half))


def _short(name: str) -> str:
    return "p99" if name.startswith("99%") else name.split("[")[0]
