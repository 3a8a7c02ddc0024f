"""Docker's json-file logs: what a container wrote, in lines with the same numbers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.json_file_logs import unwrapped

TIME = "2026-05-01T10:00:00.123456789Z"


def wrapped(text: str, stream: str = "stdout") -> bytes:
    return json.dumps({"log": text, "stream": stream, "time": TIME}).encode() + b"\n"


@pytest.mark.parametrize(
    ("lines", "plain"),
    [
        (wrapped("a <b>\n") + wrapped("c\n", "stderr"), b"a <b>\nc\n"),
        (wrapped("a\n") + b'{"log":"cut of', b'a\n{"log":"cut of'),
        (b"no object\n" + wrapped("a\n"), b"no object\n" + wrapped("a\n")),
        (b'{"log": "no time, no stream"}\n', b'{"log": "no time, no stream"}\n'),
        (b'{"log": 7, "time": "x"}\n', b'{"log": 7, "time": "x"}\n'),
        (b"", b""),
    ],
)
def test_unwrapped(lines: bytes, plain: bytes) -> None:
    assert unwrapped(lines, times=False) == plain


def test_with_times() -> None:
    assert unwrapped(wrapped("a\n"), times=True) == f"{TIME} a\n".encode()


@given(st.lists(st.text()))
def test_lines_keep_their_numbers(texts: list[str]) -> None:
    lines = b"".join(map(wrapped, texts))
    assert unwrapped(lines, times=True).count(b"\n") == lines.count(b"\n")
