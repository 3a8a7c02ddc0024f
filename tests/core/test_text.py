"""Text on its way to people, and lines out of pieces."""

import pytest

from nccltool.core.text import LineCutter


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
