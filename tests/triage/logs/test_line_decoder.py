"""Escape sequences around a line are taken off, and the line stays."""

import pytest

from nccltool.triage.logs.line_decoder import clean


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[36mrow\x1b[0m", "row"),
        (b"\x1b]0;title\x07row", "row"),
        (b"\x1b]8;;http://a\x1b\\row", "row"),
        (b"\x1b_bk;t=1763800000000\x07row", "row"),  # Buildkite
        (b"\x1bPq#0\x1b\\row", "row"),
        (b"\x1b_never ends", ""),
    ],
)
def test_clean(raw: bytes, text: str) -> None:
    assert clean(raw) == text
