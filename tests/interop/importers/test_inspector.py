"""NCCL Inspector: calls become rows, and records that do not fit are found."""

import json

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from tests.interop.importers import foreign
from tests.trace.inspected import sent

LINES = foreign.data("inspector.log").decode().splitlines(True)


def test_sizes_and_times() -> None:
    gathered, reduced, *_ = foreign.read("inspector.log")
    assert (gathered.rows[0].bytes, gathered.world_size) == (8 * 2**24, 8)
    (half,) = reduced.rows[0].halves
    assert half.samples_us == pytest.approx((370, 372, 369, 401))
    assert half.time.value == pytest.approx(378)
    assert half.busbw.value == pytest.approx(2**26 / 378 / 1e3 * 1.75)


def test_sends_are_no_collectives() -> None:
    """The log of a rank that also sends has the rows of its collectives."""
    alone = importers.read(LINES[0].encode(), "out.log", Told())
    beside = importers.read(f"{LINES[0]}{json.dumps(sent(8, 90, peer=1))}\n".encode(), "out.log", Told())
    assert [test.rows for test in beside] == [test.rows for test in alone]


def test_a_record_that_contradicts_itself_is_found() -> None:
    text = LINES[0].replace('"coll_exec_time_us":370', '"coll_exec_time_us":371')
    (test,) = importers.read(text.encode(), "out.log", Told())
    assert "import-inconsistent" in [finding.code for finding in test.found]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LINES[0].replace("v4.0", "v9.0"), "out.log, line 1: output format 'v9.0' of NCCL Inspector"),
        (LINES[0][:-20], "out.log: it has no complete record"),
        (LINES[7], "out.log: no call of an operation that nccltool knows has a time; calls: Send"),
        (LINES[0].replace('"n_ranks":8', '"n_ranks":0'), "out.log: it has no complete record"),
    ],
)
def test_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        importers.read(text.encode(), "out.log", Told())
    assert error.value.message.startswith(sentence)


def test_a_dump_that_is_not_whole_is_found() -> None:
    lines = foreign.data("inspector-dumps.jsonl").decode().splitlines(True)
    (reduced, gathered) = importers.read("".join(lines).encode(), "out", Told())[::-1]
    assert (reduced.op, gathered.op, reduced.world_size) == ("all_reduce", "all_gather", 4)
    (*_, last) = importers.read("".join(lines[:2] + lines[3:]).encode(), "out", Told())
    assert "out: 1 record missing that the dumps announce" in [finding.message for finding in last.found]
