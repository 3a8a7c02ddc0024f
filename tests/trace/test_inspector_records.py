"""Records of NCCL Inspector: what a line tells, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nccltool.trace.inspector_records import (
    InspectorLog,
    InspectorRecord,
    SentRecord,
    UnknownFormatError,
    UnreadRecordError,
)
from tests.trace.inspected import record, sent

_ANY: some.SearchStrategy[Any] = (
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8) | some.just([])
)


def test_a_record() -> None:
    found = InspectorLog().take(json.dumps(record(5, 370, rank=3)))
    assert isinstance(found, InspectorRecord)
    assert (found.header.rank, found.metadata.hostname, found.metadata.pid) == (3, "node-1", 703)
    assert (found.coll_perf.coll_sn, found.coll_perf.coll_exec_time_us) == (5, 370)


def test_a_marker_counts_what_follows() -> None:
    log = InspectorLog()
    marker = record(0, 1) | {"dump_stats": {"coll_records": 3, "coll_dropped_since_last_dump": 2}}
    call = {"coll_perf": marker.pop("coll_perf")}
    marker["metadata"]["inspector_output_format_version"] = "v4.3"
    assert log.take(json.dumps(marker)) is None
    assert log.take(json.dumps(call)) is not None
    log.end_of_dump()
    assert (log.lost, log.dropped) == (2, 2)


def test_a_send() -> None:
    found = InspectorLog().take(json.dumps(sent(7, 90, peer=1, rank=3)))
    assert isinstance(found, SentRecord)
    assert (found.header.rank, found.p2p_perf.p2p_peer, found.p2p_perf.p2p_exec_time_us) == (3, 1, 90)


@pytest.mark.parametrize(
    "wrong",
    [{"p2p_peer": 4}, {"p2p_peer": -1}, {"p2p_msg_size_bytes": -1}, {"p2p_exec_time_us": -1}, {"p2p": 5}],
    ids=str,
)
def test_an_impossible_send(wrong: dict[str, Any]) -> None:
    changed = sent(7, 90, peer=1)
    changed["p2p_perf"] |= wrong
    with pytest.raises(UnreadRecordError):
        InspectorLog().take(json.dumps(changed))


def test_another_version() -> None:
    other = record(0, 1)
    other["metadata"]["inspector_output_format_version"] = "v9.0"
    with pytest.raises(UnknownFormatError, match=r"v9\.0"):
        InspectorLog().take(json.dumps(other))


@given(
    some.sampled_from(["header", "metadata", "coll_perf"]),
    some.sampled_from(
        ["id", "rank", "n_ranks", "nnodes", "hostname", "pid", "coll", "coll_sn", "coll_exec_time_us"]
    ),
    _ANY,
)
def test_values_of_any_kind(part: str, key: str, value: Any) -> None:
    changed = record(1, 9)
    changed[part][key] = value
    log = InspectorLog()
    try:
        found = log.take(json.dumps(changed))
    except (UnreadRecordError, UnknownFormatError):
        return
    assert isinstance(found, InspectorRecord)
    assert 0 <= found.header.rank < found.header.n_ranks
    assert 0 <= found.coll_perf.coll_exec_time_us <= 10**18


@given(some.binary(max_size=60) | some.text(alphabet='{}[]":,1e', max_size=60).map(str.encode))
def test_lines_of_any_kind(line: bytes) -> None:
    log = InspectorLog()
    try:
        assert log.take(line) is None
    except UnreadRecordError:
        assert log == InspectorLog()
