"""JSON of every version that has it, whole, broken, and damaged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.ras import json_document
from nccltool.attach.ras.document import (
    NotRas,
)
from tests.attach.ras.states import OPERATIONS, STATES, VERSIONS, State, json_of, speaks_json

BY_NAME = {state.name: state for state in STATES}
CASES = [(state, version) for state in STATES for version in VERSIONS]
JSON_CASES = [(state, version) for state, version in CASES if speaks_json(version)]


def _told(case: tuple[State, str]) -> str:
    return f"{case[0].name}, {case[1]}"


@pytest.mark.parametrize("case", JSON_CASES, ids=_told)
def test_json_has_everything(case: tuple[State, str]) -> None:
    state, version = case
    document = json_document.parse(json_of(state, version))
    for one, told in zip(document.communicators, state.communicators, strict=True):
        assert (one.hash, one.size) == (f"{told.hash:016x}", len(told.ranks))
        present = [rank for rank in told.ranks if not rank.gone]
        for operation in OPERATIONS:
            counts = {
                member.rank: part.count
                for part in one.counts
                if part.operation == operation
                for member in part.members
            }
            assert counts == {rank.rank: rank.counts.get(operation, 0) for rank in present}
        assert {part.process.rank for part in one.missing} == {rank.rank for rank in told.ranks if rank.gone}
    gone = {rank.gone for one in state.communicators for rank in one.ranks} - {""}
    assert document.repaired == (bool(gone) and version in ("2.28.7", "2.28.9"))


@pytest.mark.parametrize("version", ["2.28.7", "2.28.9"])
def test_the_json_without_a_comma_is_invalid_and_repaired(version: str) -> None:
    data = json_of(BY_NAME["one process dead"], version)
    with pytest.raises(json.JSONDecodeError):
        json.loads(data)
    assert [one.process.rank for one in json_document.parse(data).communicators[0].missing] == [6, 7]


def test_a_rank_that_left_is_in_json_among_the_missing_ones() -> None:
    [one] = json_document.parse(json_of(BY_NAME["one rank left"], "2.29.7")).communicators
    assert [(part.process.rank, part.unresponsive) for part in one.missing] == [(2, False)]
    assert [(part.status, part.ranks) for part in one.statuses] == [("RUNNING", 7), ("NOCOMM", 1)]


def test_the_repair_touches_nothing_else() -> None:
    data = json_of(BY_NAME["one process dead"], "2.30.7")
    assert not json_document.parse(data).repaired


@given(st.sampled_from(JSON_CASES), st.floats(0, 1))
def test_half_a_json_is_refused(case: tuple[State, str], part: float) -> None:
    data = json_of(*case).strip()
    with pytest.raises(NotRas):
        json_document.parse(data[: min(int(part * len(data)), len(data) - 1)])


@given(st.sampled_from(JSON_CASES), st.data())
def test_damaged_json_gives_a_document_or_a_refusal(case: tuple[State, str], data: st.DataObject) -> None:
    good = bytearray(json_of(*case))
    place = data.draw(st.integers(0, len(good) - 1))
    good[place : place + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    try:
        document = json_document.parse(bytes(good))
    except NotRas:
        return
    assert document.form == "json"


_SIMPLE = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(_SIMPLE, lambda part: st.lists(part) | st.dictionaries(st.text(), part)))
def test_json_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(NotRas):
        json_document.parse(json.dumps(value).encode())


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(NotRas):
        json_document.parse(b"[" * 200_000)


@given(st.binary(max_size=2000))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(NotRas):
        json_document.parse(data)
