"""Results of SuperBench: results-summary.jsonl, a node's results-summary.json, and results.json of its runs.

Of their metrics those of nccl-bw and rccl-bw are read: `nccl-bw:NAME/RUN/allreduce_SIZE_busbw:RANK`, where NAME,
RUN, and RANK can be missing, and traffic patterns put `allreduce_SERIAL_PARALLEL:SIZE` (docs of micro-benchmarks).
They are figures of nccl-tests and rccl-tests. The number of ranks is not among them, but bus over algorithm
bandwidth of all-reduce and similar operations depends on nothing else.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nccltool.core.text import counted
from nccltool.interop.importers import rates
from nccltool.interop.importers.base import Half, Printed, Report, Row, Told, refuse, world_size
from nccltool.interop.importers.base import operation as operation_of
from nccltool.probe import collectives

_MARK = re.compile(r'"[nr]ccl-bw(?::[^"/]{0,200})?(?:/[^"]{1,300})?"\s*:|"name"\s*:\s*"[nr]ccl-bw[:"]')
_METRIC = re.compile(
    r"(?P<benchmark>[nr]ccl-bw(?::[^/]{1,200})?)(?:/(?P<run>\d{1,6}))?"
    r"/(?P<op>allreduce|allgather|broadcast|reduce|reducescatter|alltoall)"
    r"_(?:(?P<group>\d{1,6}_\d{1,6}):_?)?(?P<size>\d{1,18})_(?P<what>time|algbw|busbw)(?::(?P<rank>\d{1,6}))?"
)
_RETURN_CODE = re.compile(r"(?P<benchmark>[nr]ccl-bw(?::[^/]{1,200})?)(?:/\d{1,6})?/return_code(?::\d{1,6})?")
_MOST_RANKS = 4096
"""Beyond, bus over algorithm bandwidth of printed digits does not tell the number of ranks anyway."""
_RANKS_OF = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a file: for each node, benchmark, and rank that reported. Raises BadInput."""
    nodes, problems = _nodes(content, where)
    failed: list[str] = []
    series: dict[tuple[str, ...], _Series] = {}
    for place, name, metrics in nodes:
        for metric, value in metrics.items():
            _take(series, (place, name), metric, value, problems, failed)
    reports = [report for one in series.values() for report in one.reports(told)]
    if not reports:
        refuse(where, next(iter((*problems, *failed)), "it has no figures of nccl-bw or rccl-bw"))
    found = [rates.cut(where, problem) for problem in problems]
    last = replace(reports[-1], found=(*reports[-1].found, *found), stopped=tuple(failed))
    return (*reports[:-1], last)


Node = tuple[str, str, Mapping[str, Any]]
"""Its place in the file, its name, and its metrics."""


def _nodes(content: str, where: str) -> tuple[list[Node], list[str]]:
    """The nodes in a file, and what is wrong with it: one object, a list of runs, or an object a line."""
    try:
        whole: Any = json.loads(content)
    except (ValueError, RecursionError):
        return _of_lines(content, where)
    if isinstance(whole, list):
        return [_of_runs(whole, where)], []
    return [_node(where, whole)], []


def _of_lines(content: str, where: str) -> tuple[list[Node], list[str]]:
    text = rates.lines(content)
    nodes: list[Node] = []
    problems = [f"it ends inside line {text.cut}"] if text.cut is not None else []
    for number, line in text.whole:
        if not line.strip():
            continue
        try:
            decoded = json.loads(line)
        except (ValueError, RecursionError):
            problems.append(f"line {number} is no complete JSON object")
        else:
            nodes.append(_node(f"{where}, line {number}", decoded))
    return nodes, problems


def _node(place: str, decoded: Any) -> Node:
    metrics = decoded if isinstance(decoded, dict) else {}
    name = metrics.get("node")
    return place, name if isinstance(name, str) else "", metrics


def _of_runs(runs: Sequence[Any], where: str) -> Node:
    """results.json: a list of {name, return_code, result: {metric: [a value for each run]}}."""
    metrics: dict[str, Any] = {}
    for run in runs:
        if isinstance(run, dict) and isinstance(run.get("result"), dict):
            for metric, values in run["result"].items():
                several = values if isinstance(values, list) else [values]
                for index, value in enumerate(several):
                    count = f"{index}/" if len(several) > 1 else ""
                    metrics[f"{run.get('name')}/{count}{metric}"] = value
    return where, "", metrics


@dataclass(slots=True)
class _Series:
    """Figures that were measured together."""

    where: str
    node: str
    benchmark: str
    label: str
    figures: dict[tuple[str, int], dict[str, Printed]] = field(default_factory=lambda: defaultdict(dict))
    """By operation and size."""

    def reports(self, told: Told) -> Iterator[Report]:
        ops = tuple(dict.fromkeys(op for op, _ in self.figures))
        given = told if len(ops) == 1 else Told(ranks=told.ranks)
        ranks = self._ranks()
        size = world_size(ranks if told.ranks is None else None, told, self.where)
        told_by = "bus bandwidth divided by algorithm bandwidth" if told.ranks is None else "--ranks"
        for op in ops:
            yield Report(
                where=self.where,
                tool=f"SuperBench {self.benchmark}",
                op=operation_of(op, given, self.where),
                world_size=size,
                rows=tuple(self._rows(op, size)),
                said=(
                    f"{self.label}; {counted(size, 'rank')} by {told_by}",
                    "element type and placement are not in the file; out-of-place is SuperBench's default",
                ),
                times="times are those of nccl-tests: means over iterations and over ranks",
                series=self.label,
            )

    def _ranks(self) -> int | None:
        """The only number of ranks that fits all figures; None = they fit none, or several."""
        possible = set(range(2, _MOST_RANKS + 1))
        for (op, _), cells in self.figures.items():
            algbw, busbw = cells.get("algbw"), cells.get("busbw")
            if op in _RANKS_OF and algbw and busbw and algbw.range[0] > 0:
                low, high = busbw.range[0] / algbw.range[1], busbw.range[1] / algbw.range[0]
                factor = collectives.get(op).bus_factor
                possible = {ranks for ranks in possible if low <= factor(ranks) <= high}
        return possible.pop() if len(possible) == 1 else None

    def _rows(self, op: str, ranks: int) -> Iterator[Row]:
        for (name, size), cells in sorted(self.figures.items()):
            if name == op and (half := _half(op, ranks, size, cells)):
                yield Row(
                    where=f"{self.where}, {name}_{size}",
                    bytes=size,
                    count=None,
                    dtype=rates.UNKNOWN_DTYPE[0],
                    element_size=rates.UNKNOWN_DTYPE[1],
                    reduce_op=None,
                    root=None,
                    halves=(half,),
                )


def _half(op: str, ranks: int, size: int, cells: Mapping[str, Printed]) -> Half | None:
    """With the printed bandwidths, which are checked against the time; None = neither is there."""
    if "time" in cells:
        half = rates.of_time(op, ranks, size, cells["time"], placement="out-of-place")
    elif "algbw" in cells:
        half = replace(rates.of_rate(op, ranks, size, cells["algbw"]), placement="out-of-place")
    else:
        return None
    return replace(half, algbw=cells.get("algbw", half.algbw), busbw=cells.get("busbw", half.busbw))


def _take(
    series: dict[tuple[str, ...], _Series],
    node: tuple[str, str],
    metric: str,
    value: Any,
    problems: list[str],
    failed: list[str],
) -> None:
    if match := _METRIC.fullmatch(metric):
        number = _printed(value)
        if number is None:
            problems.append(f"{metric} is {str(value)[:40]!r}, not a figure")
            return
        parts = (match["benchmark"], match["run"] or "", match["group"] or "", match["rank"] or "")
        key = (*node, *parts)
        if key not in series:
            texts = (node[1], parts[0], *(f"{what} {part}" for what, part in _named(parts)))
            series[key] = _Series(node[0], node[1], parts[0], ", ".join(filter(None, texts)))
        series[key].figures[collectives.canonical(match["op"]), int(match["size"])][match["what"]] = number
    elif _RETURN_CODE.fullmatch(metric) and value:
        failed.append(f"{metric} is {str(value)[:40]}")


def _named(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((what, part) for what, part in zip(("run", "group", "rank"), parts[1:], strict=True) if part)


def _printed(value: Any) -> Printed | None:
    """A figure with the digits that nccl-tests prints at least: two decimals, one from 100, none from 10,000."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    number = rates.number(repr(value))
    if number is None:
        return None
    return Printed(number.value, 0.5 if value >= 1e4 else 0.05 if value >= 100 else 0.005)
