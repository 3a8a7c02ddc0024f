"""Text of every version into the types, which those of JSON are compared with."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.ras import json_document, text_document
from nccltool.attach.ras.document import (
    NotRas,
    RasCommunicator,
    RasCount,
    RasDocument,
    RasError,
    RasMissing,
    RasProcess,
    RasStatusCount,
)
from tests.attach.ras.states import STATES, VERSIONS, State, json_of, speaks_json, text_of

BY_NAME = {state.name: state for state in STATES}
CASES = [(state, version) for state in STATES for version in VERSIONS]
JSON_CASES = [(state, version) for state, version in CASES if speaks_json(version)]


def _told(case: tuple[State, str]) -> str:
    return f"{case[0].name}, {case[1]}"


def _process(number: int) -> RasProcess:
    host = f"10.0.0.{number // 8 + 1}"
    return RasProcess(rank=number, host=host, pid=4700 + number, gpus=(number % 8,))


def _of_text(state: State, version: str, verbose: bool = False) -> RasDocument:
    return text_document.parse(text_of(state, version, verbose))


@pytest.mark.parametrize("case", CASES, ids=_told)
def test_every_line_of_text_is_understood(case: tuple[State, str]) -> None:
    state, version = case
    for verbose in (False, True):
        document = _of_text(state, version, verbose)
        assert document.not_understood == ()
        assert document.nccl_version == f"{version}+cuda12.9"
        expected = len(state.communicators) if state.communicators else None
        assert document.communicator_count == expected
        assert document.processes == len({rank.pid for one in state.communicators for rank in one.ranks})
        assert document.timeouts == state.timeouts


def test_text_of_a_late_rank() -> None:
    [one] = _of_text(BY_NAME["one rank late"], "2.27.7").communicators
    assert one == RasCommunicator(
        hash="9f2a00c1d3e4b576",
        size=8,
        counts=(
            RasCount(operation="AllReduce", count=1201, ranks=7),
            RasCount(operation="AllReduce", count=1200, ranks=1, members=(_process(3),)),
        ),
    )


def test_old_text_counts_all_operations_together() -> None:
    [one] = _of_text(BY_NAME["one rank late"], "2.25.1").communicators
    assert [(part.operation, part.count, part.ranks) for part in one.counts] == [
        ("all", 1202, 7),
        ("all", 1201, 1),
    ]


def test_text_names_the_rank_ahead_and_json_the_late_ones() -> None:
    """nccl#1911: the small set is listed, whatever it means."""
    state = BY_NAME["one rank ahead"]
    [text] = _of_text(state, "2.29.7", verbose=True).communicators
    assert [(part.count, part.ranks, len(part.members)) for part in text.counts] == [(1201, 1, 1), (1200, 39, 0)]
    [whole] = json_document.parse(json_of(state, "2.29.7")).communicators
    late = next(part for part in whole.counts if part.count == 1200)
    assert late.is_complete
    assert late.ranks == 39


def test_text_of_crossed_operations() -> None:
    [one] = _of_text(BY_NAME["operations crossed"], "2.30.7").communicators
    assert [(part.operation, part.count, [member.rank for member in part.members]) for part in one.counts] == [
        ("AllGather", 1, [1]),
        ("AllGather", 0, [0]),
        ("AllReduce", 1202, [0]),
        ("AllReduce", 1201, [1]),
    ]


def test_a_stopped_process() -> None:
    text = _of_text(BY_NAME["one process stopped"], "2.27.7")
    assert text.silent == (RasProcess(host="10.0.0.1", pid=4706, gpus=(6,)),)
    missing = RasMissing(process=_process(6), unresponsive=True)
    assert text.communicators[0].missing == (missing,)
    assert text.dead == ()
    whole = json_document.parse(json_of(BY_NAME["one process stopped"], "2.32.3"))
    assert whole.silent == (replace(_process(6), nvml_gpus=(6,)),)
    assert (whole.silent_processes, whole.dead_processes) == (1, 0)


def test_the_oldest_text_has_numbers_only() -> None:
    [one] = _of_text(BY_NAME["one process dead"], "2.24.3").communicators
    assert [part.process for part in one.missing] == [RasProcess(rank=6), RasProcess(rank=7)]


def test_dead_processes() -> None:
    text = _of_text(BY_NAME["one process dead"], "2.30.7")
    assert [(one.pid, one.nvml_gpus) for one in text.dead] == [(4706, ()), (4707, (3,))]
    whole = json_document.parse(json_of(BY_NAME["one process dead"], "2.30.7"))
    assert [one.pid for one in whole.dead] == [4706, 4707]


@pytest.mark.parametrize("version", ["2.25.1", "2.26.2", "2.28.9"])
def test_a_rank_that_left_is_not_missing(version: str) -> None:
    [one] = _of_text(BY_NAME["one rank left"], version).communicators
    assert one.missing == ()
    status = "UNKNOWN" if version == "2.25.1" else "NOCOMM"
    assert RasStatusCount(status=status, ranks=1, members=(_process(2),)) in one.statuses  # type: ignore[arg-type]


def test_errors_that_nccl_reported() -> None:
    expected = (
        RasError(when="initialization", error="System error", ranks=1, members=(_process(4),)),
        RasError(when="asynchronous", error="Remote process error", ranks=1, members=(_process(1),)),
    )
    [one] = _of_text(BY_NAME["asynchronous error"], "2.29.7").communicators
    assert one.errors == expected
    [whole] = json_document.parse(json_of(BY_NAME["asynchronous error"], "2.29.7")).communicators
    assert {(part.when, part.error, part.members[0].rank) for part in whole.errors} == {
        ("initialization", "System error", 4),
        ("asynchronous", "Remote process error", 1),
    }


def test_other_jobs_shapes_of_the_summary() -> None:
    data = text_of(BY_NAME["healthy"], "2.27.7").decode()
    uniform = data[data.index("  Nodes") : data.index("Communicators")]
    rows = (
        "  Nodes  Processes         GPUs\n          per node  per process\n      2          8            1\n"
        "      1          4            2\n\n  Nodes  Processes         GPUs\n(total)    (total)      (total)\n"
        "      3         20           24\n\nThe outlier node:\n  Node 10.0.0.9 running processes 11,12,13,14\n\n"
    )
    document = text_document.parse(data.replace(uniform, rows).encode())
    assert (document.processes, document.not_understood) == (20, ())


def test_a_line_of_a_later_version_is_reported() -> None:
    data = text_of(BY_NAME["healthy"], "2.32.3") + b"  Progress of channel 3 is stale\n"
    assert text_document.parse(data).not_understood == ("  Progress of channel 3 is stale",)


@given(st.binary(max_size=2000))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(NotRas):
        text_document.parse(data)


@given(st.sampled_from(CASES), st.floats(0, 1), st.booleans())
def test_half_a_text_is_refused(case: tuple[State, str], part: float, verbose: bool) -> None:
    """What is cut behind the last heading cannot be told from a whole document, except in the middle of a line."""
    data = text_of(*case, verbose)
    half = data[: int(part * data.rindex(b"Warnings"))]
    with pytest.raises(NotRas):
        text_document.parse(half)


@given(st.sampled_from(CASES), st.data())
def test_damaged_text_gives_a_document_or_a_refusal(case: tuple[State, str], data: st.DataObject) -> None:
    good = bytearray(text_of(*case))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(good) - 1))
        good[place : place + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
        good = good or bytearray(b"x")
    try:
        document = text_document.parse(bytes(good))
    except NotRas:
        return
    for one in document.communicators:
        assert all(len(part.members) <= part.ranks for part in one.counts)
