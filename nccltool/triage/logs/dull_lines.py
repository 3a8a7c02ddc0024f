"""Lines that say nothing, known by their shape: a large log repeats a few hundred shapes a million times.

The shape of a line is the line with 0 for every digit. No line of a shape says anything if one of them does not,
and no pattern that fits only some digits (`exit code [1-9]`) can fit the shape. What lines of a shape say may also
be known often enough: of them nothing is handed on any more, so they are as dull as the others, for that long.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from nccltool.triage.logs import complaints
from nccltool.triage.logs.patterns import LogPattern

_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_TEXT_ZEROS = str.maketrans("123456789", "0" * 9)
_SEEN = 3
"""Lines of a shape that are read before it is worth to find out whether it is dull."""
_MOST_SHAPES = 20_000
"""Shapes that are remembered: where no two lines are alike, more would only cost memory."""
_LONGEST = 1000
"""Bytes of a line that has a shape."""


def shape(line: bytes) -> bytes:
    """A line, or several, with 0 for every digit."""
    return line.translate(_ZEROS)


class DullLines:
    """The shapes of one log of which nothing is handed on."""

    def __init__(self) -> None:
        self._dull: set[bytes] = set()
        self._full: set[bytes] = set()
        """Those whose kinds have been handed on often enough."""
        self._seen: Counter[bytes] = Counter()

    def __contains__(self, line: bytes) -> bool:
        return bool(self._dull) and shape(line) in self._dull

    def others(self, lines: bytes) -> Sequence[int] | None:
        """The places of the lines that are not dull; None: all of them."""
        if not self._dull:
            return None
        dull = self._dull
        return [place for place, one in enumerate(shape(lines).split(b"\n")) if one not in dull]

    def learn(self, line: bytes, text: str, is_full: bool) -> None:
        """A line of which nothing is handed on: no pattern fits it, or (`is_full`) all that fit did so often."""
        if len(line) > _LONGEST or len(self._seen) >= _MOST_SHAPES:
            return
        known = shape(line)
        self._seen[known] += 1
        if self._seen[known] == _SEEN and not can_fit(text.translate(_TEXT_ZEROS)):
            self._dull.add(known)
            if is_full:
                self._full.add(known)

    def forget_full(self) -> None:
        """What was known often enough is of interest again."""
        for known in self._full:
            del self._seen[known]
        self._dull -= self._full
        self._full.clear()


@dataclass(frozen=True, slots=True)
class _OfSomeDigits:
    """A pattern that fits only some digits."""

    literal: str
    written: str | None
    """The expression that it has; None: what that means for other digits is not known."""

    def can_fit(self, text: str) -> bool:
        """Whether it fits a line that has other digits than this text of zeros."""
        return self.literal in text and (self.written is None or _loosened(self.written).search(text) is not None)


_WITHOUT_VALUE = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\{\d*,?\d*\}|0-9|\(\?P<\w+>")
"""Digits in expressions that stand for no digit of a line, or for any."""
_OPAQUE = re.compile(r"\(\?<?!(?:[^()]|\([^()]*\))*\d|\[\^[^\]]*\d|\(\?P=|\\\d")
"""Where other digits would make an expression narrower."""
_patterns: list[LogPattern] = []


def set_patterns(patterns: Iterable[LogPattern]) -> None:
    """All patterns that lines are searched for."""
    _patterns[:] = patterns
    _of_some_digits.cache_clear()


@lru_cache(maxsize=1)
def _of_some_digits() -> tuple[_OfSomeDigits, ...]:
    return tuple(filter(None, map(_if_of_some_digits, _patterns)))


def _if_of_some_digits(pattern: LogPattern) -> _OfSomeDigits | None:
    """None where it does not matter which digits a line has."""
    written = pattern.expression.pattern if pattern.expression else re.escape(pattern.literal)
    left = _WITHOUT_VALUE.sub("", written)
    if not re.search(r"\d", left + pattern.literal):
        return None
    literal = pattern.literal.translate(_TEXT_ZEROS)
    return _OfSomeDigits(literal, None if _OPAQUE.search(left) else written)


_ATOMS = re.compile(
    r"(?P<kept>\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\.|\{\d*,?\d*\}|\(\?P<\w+>)|(?P<several>\[(?:\\.|[^\]\\])*\])|(?P<one>\d)|[\^$]"
)
"""What stays of an expression, a set of characters, a digit, and what binds it to an end of the text."""
_OF_A_SET = re.compile(r"(\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\.)|\d-\d|\d")


@cache
def _loosened(written: str) -> re.Pattern[str]:
    r"""An expression with \d for each digit, and without ends: what stands around a text is not known."""
    return re.compile(_ATOMS.sub(_loose, written))


def _loose(atom: re.Match[str]) -> str:
    if several := atom["several"]:
        return _OF_A_SET.sub(lambda match: match[1] or r"\d", several)
    return atom["kept"] or (r"\d" if atom["one"] else "")


def can_fit(text: str) -> bool:
    """Whether a pattern fits some line that has other digits than this text of zeros."""
    if complaints.depends_on_digits(text):
        return True
    return any(one.can_fit(text) for one in _of_some_digits())
