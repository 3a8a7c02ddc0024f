"""mpiGraph's matrices (version 1.5): in a ring, every process sends D places ahead and receives from D behind.

That is what send_recv does at distance 1; the imported row is the mean over all pairs. Rates are 2^20 B/s, of
one message (mpiGraph.c).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median

from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.interop.importers import rates
from nccltool.interop.importers.base import Printed, Report, Row, Told, operation, refuse, world_size

_MARK = re.compile(r"^START mpiGraph v", re.MULTILINE)
_START = re.compile(r"START mpiGraph v(\S+)\s*")
_SETTING = re.compile(r"(MsgSize|Times|Window|Procs)\s+(\d{1,15})\s*")
_MEAN = re.compile(r"Send avg\s+(\S+)\s*")
_ROW = re.compile(r"(\S{1,255}):(\d{1,7}) to\s+(.*)")
_OP = "send_recv"
_MOST_PROCESSES = 20000


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a text. Raises BadInput."""
    text = rates.lines(content)
    graphs = list(_graphs(text.whole, where))
    return tuple(graph.report(told, len(graphs) > 1) for graph in graphs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """One matrix as it is printed."""

    processes: int
    hosts: Mapping[int, str]
    """Of processes whose row is complete."""
    rates: Mapping[tuple[int, int], Printed]
    """MiB/s from one process to another."""
    torn: tuple[str, ...]


def matrices(content: str, where: str) -> Iterator[Matrix]:
    """The matrices in a text, for those who look at single pairs. Raises BadInput."""
    for graph in _graphs(rates.lines(content).whole, where):
        processes = graph.processes(where)
        pairs = {pair: cell for pair, cell in graph.pairs.items() if math.isfinite(cell.value)}
        yield Matrix(processes=processes, hosts=graph.senders, rates=pairs, torn=tuple(graph.torn))


@dataclass(slots=True)
class _Graph:
    file: str
    line: int
    version: str
    settings: dict[str, int] = field(default_factory=dict)
    mean: Printed | None = None
    senders: dict[int, str] = field(default_factory=dict)
    """Host of each process whose row is complete."""
    pairs: dict[tuple[int, int], Printed] = field(default_factory=dict)
    """MiB/s from one process to another."""
    torn: list[str] = field(default_factory=list)
    is_over: bool = False

    def report(self, told: Told, several: bool) -> Report:
        place = f"{self.file}, line {self.line}" if several else self.file
        size, processes = self._setting("MsgSize", place), self.processes(place)
        measured = {pair: number for pair, number in self.pairs.items() if number.value > 0}
        if not size or not measured:
            refuse(
                place, "its matrix of send bandwidths has no complete row", "pass the complete, unchanged output"
            )
        is_whole = len(measured) == processes * (processes - 1)
        hosts = tuple(dict.fromkeys(self.senders[process] for process in sorted(self.senders)))
        return Report(
            where=place,
            tool=f"mpiGraph {self.version}",
            op=operation(_OP, told, place),
            world_size=world_size(processes, told, place),
            hosts=hosts if len(self.senders) == processes else None,
            backend="mpi",
            rows=(self._row(place, size, measured, processes),),
            average=rates.scaled(self.mean, rates.MEBIBYTES) if self.mean and is_whole else None,
            said=tuple(self._said(measured)),
            times="the time is the mean over all pairs of processes, of one message",
            found=tuple(self._found(place, processes, len(measured))),
        )

    def processes(self, place: str) -> int:
        """How many there were. Raises BadInput."""
        count = self._setting("Procs", place)
        if count > _MOST_PROCESSES:
            refuse(place, f"it has {count} processes; expected at most {_MOST_PROCESSES}")
        return count

    def _setting(self, name: str, place: str) -> int:
        if name not in self.settings:
            refuse(place, f"it does not name its {name}", "pass the complete, unchanged output")
        return self.settings[name]

    def _row(self, place: str, size: int, measured: Mapping[tuple[int, int], Printed], processes: int) -> Row:
        times = [size / (number.value * rates.MEBIBYTES * 1e3) for number in measured.values()]
        worst = max(number.half / number.value for number in measured.values())
        times_and_window = (self.settings.get("Times"), self.settings.get("Window"))
        half = rates.of_time(
            _OP,
            processes,
            size,
            Printed(fmean(times), fmean(times) * worst),
            min_us=min(times),
            max_us=max(times),
            iterations=math.prod(count for count in times_and_window if count is not None) or None,
        )
        return Row(
            where=place,
            bytes=size,
            count=None,
            dtype="int8",
            element_size=1,
            reduce_op=None,
            root=None,
            halves=(half,),
        )

    def _said(self, measured: Mapping[tuple[int, int], Printed]) -> Iterator[str]:
        middle = median(number.value for number in measured.values()) * rates.MEBIBYTES
        slow = sorted(measured, key=lambda pair: measured[pair].value)[:3]
        yield f"{counted(len(measured), 'pair')}, median {middle:.4g} GB/s; the slowest:"
        for source, to in slow:
            ends = f"{self._name(source)} to {self._name(to)}"
            yield f"{ends}: {measured[source, to].value * rates.MEBIBYTES:.4g} GB/s"

    def _name(self, process: int) -> str:
        return f"{self.senders[process]}:{process}" if process in self.senders else f"process {process}"

    def _found(self, place: str, processes: int, measured: int) -> Iterator[Finding]:
        yield rates.another_test(
            place,
            "mpiGraph ran over MPI with host memory, not over NCCL: compare it with care",
            "it is a mean over all distances in the ring; send_recv of nccltool exchanges with neighbors",
        )
        missing = processes * (processes - 1) - measured
        if missing or self.torn:
            yield rates.cut(
                place, f"{missing} of {counted(processes * (processes - 1), 'pair')} missing", self.torn
            )
        elif not self.is_over:
            yield rates.cut(place, "it ends before 'END mpiGraph'")


def _graphs(text: tuple[tuple[int, str], ...], file: str) -> Iterator[_Graph]:
    graph: _Graph | None = None
    for number, line in text:
        if start := _START.fullmatch(line):
            if graph:
                yield graph
            graph = _Graph(file, number, start[1])
        elif graph:
            _take(graph, number, line)
    if graph:
        yield graph
    else:
        refuse(file, "it ends inside its first line", "pass the complete, unchanged output")


def _take(graph: _Graph, number: int, line: str) -> None:
    if match := _SETTING.fullmatch(line):
        graph.settings.setdefault(match[1], int(match[2]))
    elif match := _MEAN.fullmatch(line):
        graph.mean = rates.number(match[1])
    elif match := _ROW.match(line):
        _take_row(graph, number, match)
    elif line.strip() == "END mpiGraph":
        graph.is_over = True


def _take_row(graph: _Graph, number: int, match: re.Match[str]) -> None:
    process, cells = int(match[2]), [rates.number(text) for text in match[3].split()]
    whole = [cell for cell in cells if cell is not None]
    if len(whole) != len(cells) or len(cells) != graph.settings.get("Procs") or process >= len(cells):
        graph.torn.append(f"line {number}: row of {match[1]}:{process} has {len(cells)} values")
        return
    graph.senders[process] = match[1]
    graph.pairs.update({(process, to): cell for to, cell in enumerate(whole) if to != process})
