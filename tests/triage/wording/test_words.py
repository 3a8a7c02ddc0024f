"""Words of logs, and the part of a long log that is looked at."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.triage.wording import words
from nccltool.triage.wording.words import TextSample, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("Call to ibv_reg_mr failed", {"call", "to", "ibv_reg_mr", "failed"}),
        ("mlx5_10:1/RoCE", {"mlx0_0", "roce"}),
        ("comm 0x55d5a2c40 rank 3", {"comm", "rank"}),
        ("node17 node2", {"node0"}),
        ("a " + "b" * 50, {"b" * 41, "b" * 9}),
    ],
)
def test_words_are_in_lower_case_and_without_numbers(text: str, expected: set[str]) -> None:
    assert words_of(text) == expected


def test_of_a_long_log_the_beginning_and_the_end_are_kept() -> None:
    sample = TextSample()
    log = b"first\n" + b"x\n" * words.HEAD_BYTES + b"middle\n" + b"y\n" * words.TAIL_BYTES + b"last\n"
    assert b"".join(sample.of([log[:10], log[10:]])) == log
    assert sample.text.startswith(b"first\n")
    assert sample.text.endswith(b"last\n")
    assert b"middle" not in sample.text
    assert len(sample.text) == words.HEAD_BYTES + words.TAIL_BYTES


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_what_is_kept_does_not_depend_on_how_it_comes(log: bytes, places: list[int]) -> None:
    def chunks() -> Iterator[bytes]:
        cuts = sorted({0, len(log), *(place for place in places if place < len(log))})
        for begin, end in pairwise(cuts):
            yield log[begin:end]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "HEAD_BYTES", 20)
        patch.setattr(words, "TAIL_BYTES", 30)
        sample = TextSample()
        assert b"".join(sample.of(chunks())) == log
        assert sample.text == (log if len(log) <= 50 else log[:20] + log[-30:])
