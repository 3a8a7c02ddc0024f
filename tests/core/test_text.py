"""Text on its way to people, and lines out of pieces."""

import pytest

from nccltool.core.text import LineCutter, whole


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"a\nb", b"c\n\nd"], [b"a", b"bc", b"", b"d"]),
        ([b"abc", b"de"], [b"abcde"]),
        ([b"ab\ncdefgh", b"i\n"], [b"ab", b"cdefgh", b"i"]),
        ([b"\n"], [b""]),
        ([], []),
    ],
)
def test_lines_out_of_pieces(pieces: list[bytes], lines: list[bytes]) -> None:
    cutter = LineCutter(longest=5)
    assert [*(line for piece in pieces for line in cutter.take(piece)), *cutter.end()] == lines
    assert cutter.end() == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("1" * 19, None), ("1" * 5000, None), ("", None)),
        *(("\u00b2", None), ("\u0665", None), ("-1", None), ("1.5", None), (" 1", None), ("1_0", None)),
    ],
)
def test_whole_numbers_of_strangers(text: str, number: int | None) -> None:
    assert whole(text) == number
