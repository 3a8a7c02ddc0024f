"""Logs of NCCL Inspector, a test for each operation of each communicator."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.interop.importers import rates
from nccltool.interop.importers.base import Printed, Report, Row, Told, operation, refuse, world_size
from nccltool.trace.inspector_records import (
    MARK,
    OF_PARTS,
    InspectorLog,
    InspectorRecord,
    UnknownFormatError,
    UnreadRecordError,
)

_OPS = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
}
_WITHIN = 1e-5
"""Bandwidths are printed with six decimals."""


def recognises(content: str) -> bool:
    return MARK.search(content) is not None


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """A test for each operation of each communicator. Raises BadInput."""
    text = rates.lines(content)
    log = _Log()
    for number, line in text.whole:
        if line.strip():
            log.take(number, line, f"{where}, line {number}")
    log.state.end_of_dump()
    records = log.records
    if not records:
        refuse(
            where, "it has no complete record of NCCL Inspector", "pass the log of one process, one record a line"
        )
    reports = list(_reports(records, where, told))
    if not reports:
        names = ", ".join(dict.fromkeys(record.coll_perf.coll for record in records))
        refuse(where, f"no call of an operation that nccltool knows has a time; calls: {names}")
    extra = tuple(_of_file(log, text.cut, where))
    return (*reports[:-1], replace(reports[-1], found=(*reports[-1].found, *extra)))


@dataclass(slots=True)
class _Log:
    """A log as far as it has been read."""

    state: InspectorLog = field(default_factory=InspectorLog)
    records: list[InspectorRecord] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)

    def take(self, number: int, text: str, where: str) -> None:
        try:
            record = self.state.take(text)
        except UnreadRecordError:
            self.torn.append(f"line {number}: {text.strip()[:80]}")
            return
        except UnknownFormatError as error:
            refuse(where, str(error))
        if isinstance(record, InspectorRecord):
            self.records.append(record)


def _reports(records: Sequence[InspectorRecord], where: str, told: Told) -> Iterator[Report]:
    by_test: dict[tuple[str, int, int, str], list[InspectorRecord]] = defaultdict(list)
    for record in records:
        if record.coll_perf.coll in _OPS and record.coll_perf.coll_exec_time_us:
            header = record.header
            by_test[header.id, header.n_ranks, header.nnodes, record.coll_perf.coll].append(record)
    given = told if len(by_test) == 1 else Told(ranks=told.ranks)
    for (communicator, ranks, nodes, coll), calls in sorted(by_test.items()):
        sources = ", ".join(dict.fromkeys(call.coll_perf.coll_timing_source for call in calls))
        yield Report(
            where=where,
            tool=f"NCCL Inspector {calls[0].metadata.inspector_output_format_version}",
            op=operation(_OPS[coll], given, where),
            world_size=world_size(ranks, Told(), where),
            hosts=(calls[0].metadata.hostname,) if nodes == 1 else None,
            rows=tuple(_rows(calls, coll, ranks, where)),
            said=(
                f"communicator {communicator}, rank {calls[0].header.rank} of {ranks} on {counted(nodes, 'node')}",
                f"clock: {sources}",
            ),
            times="times are those of one rank, of sampled calls; element type and placement are not in the file",
            series=communicator,
            found=(*_of_test(calls, coll, where),),
        )


def _rows(calls: Sequence[InspectorRecord], coll: str, ranks: int, where: str) -> Iterator[Row]:
    by_size: dict[int, list[float]] = defaultdict(list)
    for call in calls:
        by_size[call.coll_perf.coll_msg_size_bytes].append(call.coll_perf.coll_exec_time_us)
    for part, times in sorted(by_size.items()):
        size = part * ranks if coll in OF_PARTS else part
        op = _OPS[coll]
        yield Row(
            where=where,
            bytes=size,
            count=None,
            dtype=rates.UNKNOWN_DTYPE[0],
            element_size=rates.UNKNOWN_DTYPE[1],
            reduce_op=None,
            root=None,
            halves=(
                rates.of_time(
                    op, ranks, size, Printed(fmean(times), 0.5), samples_us=tuple(times), iterations=len(times)
                ),
            ),
        )


def _of_test(calls: Sequence[InspectorRecord], coll: str, where: str) -> Iterator[Finding]:
    yield rates.another_test(
        where,
        f"{_OPS[coll]} was measured by NCCL Inspector inside a running job: other work shares its links and GPUs",
        "a call waits for the latest rank; compare ranks with each other before you compare with a benchmark",
    )
    if wrong := [text for call in calls if (text := _contradiction(call, coll))]:
        yield rates.inconsistent(where, wrong)


def _contradiction(record: InspectorRecord, coll: str) -> str | None:
    """What does not fit in a record; None = its bandwidth is that of its size and time."""
    call = record.coll_perf
    if not isinstance(call.coll_algobw_gbs, float) or not call.coll_algobw_gbs >= 0:
        return None
    size = call.coll_msg_size_bytes * (record.header.n_ranks if coll in OF_PARTS else 1)
    rate = size / call.coll_exec_time_us / 1e3
    if abs(rate - call.coll_algobw_gbs) <= max(_WITHIN, _WITHIN * rate):
        return None
    return (
        f"{coll}: coll_algobw_gbs is {call.coll_algobw_gbs:g}, but {size} B in {call.coll_exec_time_us:g} us "
        f"are {rate:.6g} GB/s"
    )


def _of_file(log: _Log, cut: int | None, where: str) -> Iterator[Finding]:
    if log.torn:
        yield rates.cut(where, f"{counted(len(log.torn), 'record')} cannot be read", log.torn)
    if cut is not None:
        yield rates.cut(where, f"it ends inside line {cut}")
    if log.state.lost:
        yield rates.cut(where, f"{counted(log.state.lost, 'record')} missing that the dumps announce")
    calls = [record.coll_perf for record in log.records]
    strange = [call.coll for call in calls if call.coll not in _OPS]
    if strange:
        names = tuple(dict.fromkeys(strange))
        yield rates.left_out(
            "NCCL Inspector", f"{counted(len(strange), 'call')} left out: nccltool has no such operation", names
        )
    timeless = sum(1 for call in calls if not call.coll_exec_time_us)
    if timeless:
        yield rates.left_out("NCCL Inspector", f"{counted(timeless, 'call')} left out: the time rounds to 0 us")
    if log.state.dropped:
        yield rates.left_out(
            "NCCL Inspector", f"{counted(log.state.dropped, 'call')} not in the log: later calls overwrote them"
        )
