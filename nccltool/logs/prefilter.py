"""Which lines are worth taking apart: those that contain the literal of a pattern. Most lines contain none.

Whole blocks are searched, not lines: with RE2, which looks for all literals in one pass, or without it by Python's
own search, one literal after the other. Both find the same lines.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nccltool.logs.base import Pattern

_UNCLEAN = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])"
)
"""What is taken out of a line before it is read: a literal can stand around it."""


class Prefilter:
    """Finds the lines of blocks that contain a literal, or something that is to be cleaned away first."""

    def __init__(self, patterns: Iterable[Pattern], use_re2: bool = True) -> None:
        self._literals = _shortest(pattern.literal for pattern in patterns)
        self._engine = _re2(self._literals, _UNCLEAN.pattern) if use_re2 else None

    @property
    def has_re2(self) -> bool:
        """Whether RE2 does the work."""
        return self._engine is not None

    def searcher(self, block: bytes) -> Callable[[int], int]:
        """For one block: from a place to the next place of interest, -1 = none."""
        engine = self._engine
        if engine is None:
            return _In(self._places(block)).after

        def after(start: int) -> int:
            match = engine.search(block, start)
            return -1 if match is None else int(match.start())

        return after

    def _places(self, block: bytes) -> Iterator[int]:
        for literal in self._literals:
            wanted = literal.encode()
            place = block.find(wanted)
            while place >= 0:
                yield place
                place = block.find(wanted, place + 1)
        yield from (match.start() for match in _UNCLEAN.finditer(block))


class _In:
    """Places that are known."""

    def __init__(self, places: Iterable[int]) -> None:
        self._places = sorted(places)

    def after(self, start: int) -> int:
        """The first at or behind `start`."""
        index = bisect_left(self._places, start)
        return self._places[index] if index < len(self._places) else -1


def _re2(literals: Iterable[str], more: bytes) -> Any:
    """All literals as one expression of RE2, which is bytes to bytes; None where it is not installed."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = 64 << 20
    words = [re.escape(literal).encode() for literal in literals]
    return re2.compile(b"|".join([*words, more]), options)


def _shortest(literals: Iterable[str]) -> tuple[str, ...]:
    """The literals without those that contain another one: a line with the longer has the shorter too."""
    kept: list[str] = []
    for literal in sorted(set(literals), key=len):
        if not any(short in literal for short in kept):
            kept.append(literal)
    return tuple(kept)
