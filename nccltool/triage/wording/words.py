"""The words of a log; of a long one, those of its beginning and its end."""

import re
from collections.abc import Iterable, Iterator

HEAD_BYTES = TAIL_BYTES = 16 << 10
"""What is looked at. Most of the retold failures that the weights were learned from have 2 to 12 KiB."""
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[a-z_][a-z_0]{1,40}")


def words_of(text: str) -> frozenset[str]:
    """The words in lower case, each number in them as 0."""
    return frozenset(_WORD.findall(_DIGITS.sub("0", _ADDRESS.sub(" ", text.lower()))))


class TextSample:
    """Sees a log pass, and keeps its beginning and its end."""

    def __init__(self) -> None:
        self._head = self._tail = b""

    def of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The chunks of the log, as they are."""
        for chunk in chunks:
            room = HEAD_BYTES - len(self._head)
            self._head += chunk[:room]
            if len(chunk) > room:
                self._tail = (self._tail + chunk[max(room, len(chunk) - TAIL_BYTES) :])[-TAIL_BYTES:]
            yield chunk

    @property
    def text(self) -> bytes:
        return self._head + self._tail
