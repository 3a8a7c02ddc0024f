"""How the answer of a far end crosses: in short lines, because srun mixes the longer lines of several nodes.

A line is the byte RS, as in RFC 7464, then who writes, then `+` or, in the last line of an answer, `.`, then a
part of the JSON. What comes before RS is a banner or a log.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from nccltool.attach.look.order import LookAnswer

_MARK = b"\x1e"
_PART = 800
"""Bytes: srun passes on whole lines of up to 1,023."""
_WRITER = 8
"""Characters that tell the writers of one stream apart."""
_MOST_WRITERS = 65536
LARGEST_ANSWER = 64 << 20
"""Bytes: a rank takes about 20 KB."""
LONGEST_LINE = 4096


def packed(answer: LookAnswer, writer: str) -> Iterator[bytes]:
    """Lines. `writer`: eight characters that no other far end of the stream has."""
    text = msgspec.json.encode(answer)
    head = _MARK + writer.encode()
    for start in range(0, len(text), _PART):
        sign = b"." if start + _PART >= len(text) else b"+"
        yield head + sign + text[start : start + _PART] + b"\n"


@dataclass(slots=True)
class AnswerReader:
    """Puts the lines of one stream together again."""

    _parts: dict[bytes, bytearray] = field(default_factory=dict)

    def answer_of(self, line: bytes) -> LookAnswer | None:
        """The answer that ends with this line; None where none does. Raises ValueError when it is damaged."""
        _, mark, rest = line.rstrip(b"\n").partition(_MARK)
        if not mark:
            return None
        writer, sign, part = rest[:_WRITER], rest[_WRITER : _WRITER + 1], rest[_WRITER + 1 :]
        if sign not in (b"+", b"."):
            raise ValueError("a line has no sign")
        text = self._parts.setdefault(writer, bytearray())
        text += part
        if len(text) > LARGEST_ANSWER or len(self._parts) > _MOST_WRITERS:
            raise ValueError("it is too long")
        if sign == b"+":
            return None
        return msgspec.json.decode(self._parts.pop(writer), type=LookAnswer)
