"""A reader of trace files of any size: one event at a time, whatever else is in the file, damaged or not."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

EVENTS: Final = "traceEvents"
MOST_OF_A_VALUE = 1 << 21
"""Characters of one event, or of one value beside the events: what is longer is skipped."""
_FILL = 1 << 18
"""Characters to have before the next event is read."""
_BLANKS = re.compile(r"[ \t\n\r\ufeff]*")
_STRUCTURE = re.compile(r'["{}\[\],]')
_IN_STRING = re.compile(r'["\\]')
_DECODER = json.JSONDecoder(strict=False)  # profilers write names as they come, control characters too
_SKIPPED: Final = object()


class TraceEventReader:
    """Reads the bytes of a trace. Afterwards it knows what was wrong with them."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._text, self._at, self._done = "", 0, False
        self.skipped = 0
        """Values that could not be read."""
        self.ends_early = False
        self.why_not = ""
        """Why it is not a trace; empty = it is one."""

    def entries(self) -> Iterator[tuple[str, Any]]:
        """(EVENTS, an event) for each event, and (key, value) for each other key of the file."""
        first = self._next()
        if first == "[":
            self._at += 1
            yield from self._list()
        elif first == "{":
            self._at += 1
            yield from self._keys()
        else:
            self.why_not = "it is not JSON" if first else "it is empty"

    def _keys(self) -> Iterator[tuple[str, Any]]:
        has_events = False
        while (sign := self._next()) != "}":
            if sign == ",":
                self._at += 1
                continue
            key = self._value() if sign == '"' else _SKIPPED
            if not isinstance(key, str) or self._next() != ":":
                self.ends_early = True
                return
            self._at += 1
            if self._next() == "[" and key == EVENTS:
                has_events = True
                self._at += 1
                yield from self._list()
            elif (value := self._value()) is not _SKIPPED:
                yield key, value
        self.why_not = "" if has_events else f"it has no {EVENTS}"

    def _list(self) -> Iterator[tuple[str, Any]]:
        while (sign := self._next()) != "]":
            if not sign:
                self.ends_early = True
                return
            if sign == ",":
                self._at += 1
            elif (value := self._value()) is not _SKIPPED:
                yield EVENTS, value
        self._at += 1

    def _next(self) -> str:
        """The next character that is no blank, still to be read; empty at the end."""
        while True:
            found = _BLANKS.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def _value(self) -> Any:
        """The value that begins here, or _SKIPPED."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if len(self._text) - self._at < MOST_OF_A_VALUE and self._fill():
                    continue
                break
            except (ValueError, RecursionError):  # a number of thousands of digits; lists in lists in lists
                break
            if end == len(self._text) and isinstance(value, int | float) and self._fill():
                continue  # a number that may go on
            self._at = end
            return value
        self._skip()
        return _SKIPPED

    def _skip(self) -> None:
        """Skip a value that cannot be read or is too long."""
        begin, depth = True, 0
        while found := self._find(_STRUCTURE):
            sign = found[0]
            if depth == 0 and sign in "]},":
                self._at = found.start() + (1 if begin and found.start() == self._at and sign != "," else 0)
                self.skipped += 1
                return
            begin = False
            self._at = found.end()
            if sign == '"':
                self._skip_string()
            elif sign != ",":
                depth += 1 if sign in "[{" else -1
            if depth == 0 and sign != ",":
                self.skipped += 1
                return
        self.ends_early = True

    def _skip_string(self) -> None:
        while found := self._find(_IN_STRING):
            self._at = found.end()
            if found[0] == '"':
                return
            if self._at == len(self._text):
                self._fill()
            self._at += 1  # what is behind a backslash

    def _find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        while True:
            if found := pattern.search(self._text, self._at):
                return found
            self._at = len(self._text)
            if not self._fill():
                return None

    def _fill(self) -> bool:
        """Read on. False: there is no more."""
        parts, size = [self._text[self._at :]], 0
        while size < _FILL and not self._done:
            piece = next(self._pieces, b"")
            self._done = not piece
            parts.append(self._decode(piece, final=self._done))
            size += len(parts[-1])
        self._text, self._at = "".join(parts), 0
        return size > 0
