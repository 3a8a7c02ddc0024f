"""Records of NCCL Inspector (in NCCL's profiler plugins, formats v4.0 to v4.3): one line, one call.

Since v4.3 a marker with `dump_stats` tells the communicator, and how many records belong to it. A message size is
that of one rank's part in all-gather and reduce-scatter; bandwidths multiply it by the ranks
(inspectorComputeOpBw). The time is the longest of the call's kernels on this rank, in microseconds. Calls are
numbered by communicator and operation.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

MARK = re.compile(r'"inspector_output_format_version"\s*:')
OF_PARTS = ("AllGather", "AllGatherV", "ReduceScatter")
_MIXED = ("v4.1", "v4.2")
"""Their dumps of several communicators can be interleaved."""
_VERSION = re.compile(r"v4(?:\.\d{1,3})?")
_MOST_RANKS = 10**6
_MOST = 10**18


class UnreadRecordError(ValueError):
    """A line that is cut, or is something else."""


class UnknownFormatError(ValueError):
    """A version of the format that nccltool does not know."""


class InspectorHeader(msgspec.Struct):
    """The communicator, and the rank in it."""

    id: str
    rank: int
    n_ranks: int
    nnodes: int


class InspectorMetadata(msgspec.Struct):
    """The process."""

    inspector_output_format_version: str
    hostname: str = "unknown"
    pid: int = 0


class InspectorCall(msgspec.Struct):
    """A collective that has finished."""

    coll: str
    coll_msg_size_bytes: int
    coll_exec_time_us: float
    coll_sn: int | None = None
    coll_algobw_gbs: float | str = "nan"
    coll_timing_source: str = "unknown"


class InspectorSend(msgspec.Struct):
    """A send or a receive that has finished."""

    p2p: str
    p2p_peer: int
    p2p_msg_size_bytes: int
    p2p_exec_time_us: float
    p2p_sn: int | None = None


class _Counts(msgspec.Struct):
    """Records of a dump, and calls that were overwritten before it."""

    coll_records: int = 0
    p2p_records: int = 0
    proxy_records: int = 0
    coll_dropped_since_last_dump: int = 0

    @property
    def all(self) -> int:
        return self.coll_records + self.p2p_records + self.proxy_records


class _Line(msgspec.Struct):
    header: InspectorHeader | None = None
    metadata: InspectorMetadata | None = None
    coll_perf: InspectorCall | None = None
    p2p_perf: InspectorSend | None = None
    dump_stats: _Counts | None = None


@dataclass(slots=True)
class InspectorRecord:
    """A collective, with where it ran."""

    header: InspectorHeader
    metadata: InspectorMetadata
    coll_perf: InspectorCall


@dataclass(slots=True)
class SentRecord:
    """A send or a receive, with where it ran."""

    header: InspectorHeader
    metadata: InspectorMetadata
    p2p_perf: InspectorSend


@dataclass(slots=True)
class InspectorLog:
    """The log of a process as far as it has been read."""

    lost: int = 0
    """Records that a marker announced and that did not follow; `end_of_dump` counts the last ones."""
    dropped: int = 0
    """Calls that later ones overwrote before they were written."""
    _header: InspectorHeader | None = None
    _metadata: InspectorMetadata | None = None
    _expected: int = 0

    def take(self, text: str | bytes) -> InspectorRecord | SentRecord | None:
        """None: the line has no call. Raises UnreadRecordError and UnknownFormatError."""
        try:
            decoded: Any = json.loads(text)
            line = msgspec.convert(decoded, _Line)
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise UnreadRecordError from error
        if (line.header and not _is_possible(line.header)) or (
            line.metadata and not 0 <= line.metadata.pid <= _MOST
        ):
            raise UnreadRecordError
        if not line.dump_stats:
            self._expected = max(self._expected - 1, 0)
        if line.header and line.metadata:
            self._take_place(line.header, line.metadata, line.dump_stats)
        if not (self._header and self._metadata):
            return None
        if sent := line.p2p_perf:
            size, took_us = sent.p2p_msg_size_bytes, sent.p2p_exec_time_us
            is_possible = (
                0 <= sent.p2p_peer < self._header.n_ranks and 0 <= size <= _MOST and 0 <= took_us <= _MOST
            )
            if not is_possible:
                raise UnreadRecordError
            return SentRecord(self._header, self._metadata, sent)
        if not line.coll_perf:
            return None
        call = line.coll_perf
        size = call.coll_msg_size_bytes * self._header.n_ranks
        if not (0 <= size <= _MOST and 0 <= call.coll_exec_time_us <= _MOST):
            raise UnreadRecordError
        return InspectorRecord(self._header, self._metadata, call)

    def _take_place(self, header: InspectorHeader, metadata: InspectorMetadata, counts: _Counts | None) -> None:
        """The communicator, of this record or, after a marker, of those that follow."""
        self._header, self._metadata = header, metadata
        version = metadata.inspector_output_format_version
        if not _VERSION.fullmatch(version):
            raise UnknownFormatError(f"output format {version!r} of NCCL Inspector; expected v4.0 to v4.3")
        if counts:
            self.end_of_dump()
            self._expected = max(counts.all, 0) if version not in _MIXED else 0
            self.dropped += max(counts.coll_dropped_since_last_dump, 0)

    def end_of_dump(self) -> None:
        """Call it also at the end of the log."""
        self.lost += self._expected
        self._expected = 0


def _is_possible(header: InspectorHeader) -> bool:
    return 0 <= header.rank < header.n_ranks <= _MOST_RANKS and 1 <= header.nnodes <= _MOST_RANKS
