"""Bytes to clean lines, in bounded memory: terminal sequences, carriage returns, NUL and broken UTF-8 removed."""

import re
from collections.abc import Iterable, Iterator

LONGEST_LINE = 1 << 13
"""Bytes of a line that are kept; NCCL's and torch's own lines stay far below. Of a longer one the beginning and
the end are kept, because an error message stands at either."""
_HEAD = 3 * LONGEST_LINE // 4
_TAIL = LONGEST_LINE - _HEAD

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[P^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CUT = b" [...] "


def blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks, cut where lines end; only the last one can be without its end."""
    rest = b""
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((rest, memoryview(chunk)[:end]))
            rest = shortened(chunk[end:])
        else:
            rest = shortened(rest + chunk)
    if rest:
        yield rest


def parts(raw: bytes) -> Iterator[bytes]:
    """A line; one that a carriage return overwrites comes as its parts."""
    for part in shortened(raw).split(b"\r"):
        if part:
            yield part


def clean(raw: bytes) -> str:
    """One line as text that can neither move a cursor nor hide what it says."""
    text = raw.decode("utf-8", errors="replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text if text.isprintable() else _CONTROLS.sub("", text)


def shortened(line: bytes) -> bytes:
    """A line of at most LONGEST_LINE bytes: what is left out in the middle leaves a mark."""
    if len(line) <= LONGEST_LINE:
        return line
    return line[:_HEAD] + _CUT + line[len(_CUT) - _TAIL :]
