"""Answers of several far ends in one stream."""

from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.look.order import LookAnswer
from nccltool.attach.reach import answers
from nccltool.attach.reach.answers import AnswerReader, packed

_LONG = LookAnswer(host="n1", reason="ü" * 2000)
_SHORT = LookAnswer(host="n2", reason="none")


def test_lines_of_two_nodes_are_told_apart() -> None:
    first, second = list(packed(_LONG, "aaaaaaaa")), list(packed(_SHORT, "bbbbbbbb"))
    assert len(first) == 6
    assert max(map(len, first)) < 1024
    mixed = [line for pair in zip_longest(first, second) for line in pair if line is not None]
    reader = AnswerReader()
    assert [one for line in mixed if (one := reader.answer_of(line))] == [_SHORT, _LONG]


def test_banners_are_no_answers() -> None:
    (line,) = packed(_SHORT, "bbbbbbbb")
    reader = AnswerReader()
    assert reader.answer_of(b"Welcome to n2\n") is None
    assert reader.answer_of(b"motd" + line) == _SHORT


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"\x1e{", "has no sign"),
        (b"\x1eaaaaaaaa.{", "truncated"),
        (b"\x1eaaaaaaaa.{}", "missing required field"),
        (b"\x1eaaaaaaaa." + b"\xff" * 9, "malformed"),
    ],
)
def test_a_damaged_answer_is_refused(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnswerReader().answer_of(line)


def test_an_answer_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LARGEST_ANSWER", 100)
    with pytest.raises(ValueError, match="too long"):
        AnswerReader().answer_of(b"\x1eaaaaaaaa+" + b"x" * 101)


@given(st.lists(st.binary(max_size=60)))
def test_anything_is_read_or_refused(lines: list[bytes]) -> None:
    reader = AnswerReader()
    for line in lines:
        try:
            reader.answer_of(line)
        except ValueError:
            return
