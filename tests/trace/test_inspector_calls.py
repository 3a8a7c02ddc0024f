"""Files of NCCL Inspector: in any pieces, cut, damaged, and too long."""

from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nccltool.trace import inspector_calls
from nccltool.trace.inspector_calls import InspectorCalls, is_log
from tests.trace.inspected import record, text

TEXT = text(
    [record(number, 100 + number, coll=coll) for number in range(4) for coll in ("AllReduce", "AllGather")]
)


@given(some.integers(1, 900))
def test_in_pieces_of_any_size(size: int) -> None:
    calls = InspectorCalls()
    assert calls.take("a", (TEXT[at : at + size] for at in range(0, len(TEXT), size))) == ""
    ((key, by_operation),) = calls.found.items()
    assert (key.ranks, key.nodes, calls.calls) == (4, 2, 8)
    assert list(by_operation["all_reduce"][0].times_us) == [100, 101, 102, 103]
    assert set(by_operation["all_gather"][0].sizes) == {4 * (4 << 20)}


@given(some.integers(1, len(TEXT) - 1))
def test_a_cut_file_has_its_first_calls(end: int) -> None:
    calls = InspectorCalls()
    wrong = calls.take("a", [TEXT[:end]])
    whole = TEXT[:end].count(b"\n") + (TEXT[end : end + 1] == b"\n")
    assert calls.calls == whole
    assert wrong == (
        "" if TEXT[end - 1 : end] == b"\n" or TEXT[end : end + 1] == b"\n" else "1 line cannot be read"
    )


@given(some.lists(some.binary(max_size=30).filter(lambda junk: b"\n" not in junk), max_size=8))
def test_broken_lines_are_counted(junk: list[bytes]) -> None:
    lines = [line for pair in zip_longest(TEXT.splitlines(), [b"{", *junk], fillvalue=b"") for line in pair]
    calls = InspectorCalls()
    assert calls.take("a", [b"\n".join(lines)]).endswith("cannot be read")
    assert calls.calls == 8


def test_another_file_of_the_same_rank() -> None:
    calls = InspectorCalls()
    calls.take("a", [TEXT])
    assert calls.take("b", [TEXT]) == "8 calls left out: another file has this rank"


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspector_calls, "MOST_CALLS", 5)
    monkeypatch.setattr(inspector_calls, "LONGEST_LINE", 2000)
    calls = InspectorCalls()
    wrong = calls.take("a", [b"x" * 3000, b"\n", TEXT])
    assert (calls.calls, wrong) == (5, "1 line cannot be read; 3 calls left out: too many to compare")


def test_a_version_of_the_future() -> None:
    wrong = InspectorCalls().take("a", [TEXT.replace(b"v4.0", b"v9.0")])
    assert wrong == "output format 'v9.0' of NCCL Inspector; expected v4.0 to v4.3"


def test_what_is_a_log() -> None:
    assert is_log(TEXT[:300])
    assert not is_log(b'{"traceEvents": []}')
