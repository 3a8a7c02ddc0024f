"""Sends and receives of NCCL Inspector: what belongs together, and how long the data took."""

from typing import Any

import pytest

from nccltool.trace.communicators import CommunicatorUse, communicators
from nccltool.trace.inspector_calls import InspectorCalls
from tests.trace.inspected import SIZE, logs, record, sent, taken, text


def rows(files: list[list[dict[str, Any]]]) -> list[tuple[str, int, int, float]]:
    (found,) = communicators(taken([text(one) for one in files]))
    return [(row.operation, row.bytes, row.calls, round(row.time_s * 1e6)) for row in found.collectives]


def test_the_end_that_waits_less_tells_how_long_the_data_took() -> None:
    """The first transfer waits for its sender, the second one for its receiver; numbers differ between ranks."""
    sender = [sent(number, took, peer=1, rank=0) for number, took in ((8, 100), (9, 700))]
    receiver = [sent(number, took, peer=0, is_send=False, rank=1) for number, took in ((1, 900), (2, 100))]
    assert rows([sender, receiver]) == [("send_recv", SIZE, 2, 100)]
    (found,) = communicators(taken([text(sender), text(receiver[::-1])]))
    assert found.collectives[0].busbw_bytes_per_s == pytest.approx(SIZE / 100e-6)
    assert (found.ranks_read, found.late_rank) == ((0, 1), None)


def test_other_routes_and_directions_are_other_transfers() -> None:
    there = [sent(1, 100, peer=1, rank=0), sent(2, 300, peer=2, rank=0)]
    back = [sent(1, 500, peer=0, rank=1), sent(1, 900, peer=0, is_send=False, rank=1)]
    assert rows([there, back]) == [("send_recv", SIZE, 3, 300)]


def test_where_an_end_lacks_some_the_other_one_counts() -> None:
    sender = [sent(number, 200, peer=1, rank=0) for number in range(3)]
    receiver = [sent(2, 50, peer=0, is_send=False, rank=1)]
    assert rows([sender, receiver]) == [("send_recv", SIZE, 3, 200)]


def test_beside_collectives_no_rank_is_named_for_them() -> None:
    (alone,) = communicators(taken(logs([[900, 910, 300, 905]] * 400)))
    late = [record(at, took, rank=2) for at, took in enumerate([300] * 400)]
    files = logs([[900, 910, 300, 905]] * 400)
    files[2] = text([*late, *(sent(number, 90, peer=1, rank=2) for number in range(9))])
    (found,) = communicators(taken(files))
    assert [row.operation for row in found.collectives] == ["all_reduce", "send_recv"]
    assert (found.late_rank, found.gain) == (alone.late_rank, alone.gain)
    assert found.late_rank == 2


def test_what_says_nothing_and_what_is_there_twice() -> None:
    calls = InspectorCalls()
    other = sent(3, 70, peer=1)
    other["p2p_perf"]["p2p"] = "Put"
    assert calls.take("a", [text([sent(1, 0, peer=1), other, sent(2, 80, peer=1)])]) == ""
    assert calls.take("b", [text([sent(2, 80, peer=1)])]) == "1 call left out: another file has this rank"
    (found,) = communicators(calls)
    assert [(row.calls, row.bytes) for row in found.collectives] == [(1, SIZE)]
    assert isinstance(found, CommunicatorUse)
