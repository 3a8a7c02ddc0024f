"""Calls that NCCL Inspector recorded, from all files: by communicator and operation, in 24 bytes each."""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nccltool.core.text import counted, escaped
from nccltool.trace.inspector_records import (
    MARK,
    OF_PARTS,
    InspectorHeader,
    InspectorLog,
    InspectorRecord,
    SentRecord,
    UnknownFormatError,
    UnreadRecordError,
)
from nccltool.trace.inspector_sends import SendRoute, Transfers

MOST_CALLS = 4_000_000
MOST_SERIES = 50_000
"""Ranks, times the communicators and operations of each."""
LONGEST_LINE = 1 << 20
"""A verbose record has 500 bytes a channel, of at most 64."""
_ID_LENGTH = 40
_CPU_CLOCK = "collective_cpu"
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SNAPSHOT = re.compile(
    r"^(?:# (?:HELP|TYPE) )?nccl_(?:collective_|p2p_)?(?:bus_bandwidth_gbs|exec_time_microseconds)\b", re.MULTILINE
)
"""Its metrics: https://rocm.docs.amd.com/projects/rccl/en/develop/how-to/using-rccl-inspector-plugin.html"""


@dataclass(slots=True)
class RankCalls:
    """The calls of an operation by one rank of a communicator."""

    host: str
    pid: int
    file: str
    numbers: "array[int]" = field(default_factory=lambda: array("Q"))
    sizes: "array[int]" = field(default_factory=lambda: array("Q"))
    """In bytes, as nccl-tests counts them."""
    times_us: "array[float]" = field(default_factory=lambda: array("d"))
    is_cpu_clock: bool = False
    """Some times are those of the CPU: no kernel was timed."""


@dataclass(frozen=True, slots=True, order=True)
class CommunicatorKey:
    """A communicator as each of its records tells it."""

    id: str
    ranks: int
    nodes: int


@dataclass(slots=True)
class InspectorCalls:
    """Takes the files of NCCL Inspector."""

    found: dict[CommunicatorKey, dict[str, dict[int, RankCalls]]] = field(default_factory=dict)
    """By communicator, operation, and rank in it."""
    sends: dict[CommunicatorKey, dict[SendRoute, Transfers]] = field(default_factory=dict)
    calls: int = 0
    _series: int = 0
    _files: dict[tuple[CommunicatorKey, int], str] = field(default_factory=dict)
    """Of the ranks that have sent or received."""

    def ranks_of(self, key: CommunicatorKey) -> list[int]:
        """Whose calls were read."""
        of_collectives = {rank for by_rank in self.found.get(key, {}).values() for rank in by_rank}
        return sorted(of_collectives | {rank for of, rank in self._files if of == key})

    def take(self, file: str, pieces: Iterable[bytes]) -> str:
        """Read a log. What is wrong with it; empty = nothing."""
        log = InspectorLog()
        unread = twice = left_out = 0
        for line in _lines(pieces):
            try:
                record = log.take(line) if line.strip() else None
            except UnknownFormatError as error:
                return escaped(str(error))
            except UnreadRecordError:
                unread += 1
                continue
            if record is not None and (why := self._add(record, file)):
                twice, left_out = twice + (why == "twice"), left_out + (why == "full")
        log.end_of_dump()
        wrong = [f"{counted(unread, 'line')} cannot be read"] if unread else []
        wrong += [f"{counted(log.lost, 'record')} missing that its dumps announce"] if log.lost else []
        wrong += [f"{counted(twice, 'call')} left out: another file has this rank"] if twice else []
        wrong += [f"{counted(left_out, 'call')} left out: too many to compare"] if left_out else []
        return "; ".join(wrong)

    def _add_sent(self, record: SentRecord, file: str) -> str:
        """Why it was left out; empty = it was not."""
        head, call = record.header, record.p2p_perf
        number, is_send = call.p2p_sn, call.p2p == "Send"
        is_known = number is not None and 0 <= number < 1 << 63 and call.p2p in ("Send", "Recv")
        if number is None or not is_known or not call.p2p_exec_time_us:
            return ""
        ends = (head.rank, call.p2p_peer) if is_send else (call.p2p_peer, head.rank)
        key, route = _key(head), SendRoute(*ends, call.p2p_msg_size_bytes)
        if self._files.setdefault((key, head.rank), file) != file:
            return "twice"
        routes = self.sends.setdefault(key, {})
        is_new = route not in routes
        if self.calls >= MOST_CALLS or (is_new and self._series >= MOST_SERIES):
            return "full"
        self.found.setdefault(key, {})
        self._series += is_new
        self.calls += 1
        routes.setdefault(route, Transfers()).add(number, call.p2p_exec_time_us, is_send)
        return ""

    def _add(self, record: InspectorRecord | SentRecord, file: str) -> str:
        """Why it was left out; empty = it was not."""
        if isinstance(record, SentRecord):
            return self._add_sent(record, file)
        head, process, call = record.header, record.metadata, record.coll_perf
        if call.coll_sn is None or not 0 <= call.coll_sn < 1 << 63 or not call.coll_exec_time_us:
            return ""
        if self.calls >= MOST_CALLS:
            return "full"
        key = _key(head)
        ranks = self.found.setdefault(key, {}).setdefault(_operation(call.coll), {})
        if head.rank not in ranks:
            if self._series >= MOST_SERIES:
                return "full"
            self._series += 1
            ranks[head.rank] = RankCalls(escaped(process.hostname[:255]), process.pid, file)
        mine = ranks[head.rank]
        if mine.file != file:
            return "twice"
        self.calls += 1
        mine.numbers.append(call.coll_sn)
        mine.sizes.append(call.coll_msg_size_bytes * (head.n_ranks if call.coll in OF_PARTS else 1))
        mine.times_us.append(call.coll_exec_time_us)
        mine.is_cpu_clock |= call.coll_timing_source == _CPU_CLOCK
        return ""


def is_snapshot(begin: bytes) -> bool:
    """Whether a file that begins so is a textfile for Prometheus (NCCL_INSPECTOR_PROM_DUMP=1)."""
    return _SNAPSHOT.search(begin.decode("ascii", "replace")) is not None


def is_log(begin: bytes) -> bool:
    """Whether a file that begins so is one of NCCL Inspector."""
    return MARK.search(begin.decode("ascii", "replace")) is not None


def _key(head: InspectorHeader) -> CommunicatorKey:
    return CommunicatorKey(escaped(head.id[:_ID_LENGTH]), head.n_ranks, head.nnodes)


def _operation(name: str) -> str:
    """`all_reduce`, of AllReduce."""
    return escaped(_WORD.sub("_", name[:_ID_LENGTH]).lower())


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of at most LONGEST_LINE bytes; what is longer is cut there, and so cannot be read."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        if len(rest) > LONGEST_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest
