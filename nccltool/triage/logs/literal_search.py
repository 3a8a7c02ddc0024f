"""Which lines are worth taking apart: those that contain the literal of a pattern. Most lines contain none.

Whole blocks are searched, not lines: with RE2, which looks for all literals in one pass. Without it Python's own
search looks for one literal after the other, but only once in lines that differ in nothing but digits. Both find
the same lines.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from nccltool.triage.logs import base
from nccltool.triage.logs.base import LogPattern

_UNCLEAN = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])"
)
"""What is taken out of a line before it is read: a literal can stand around it."""

_CLEAN = bytes((*range(32, 127), *b"\t\n\r"))
_DIGITS = b"0123456789"
_MOST_SHAPES = 20_000
_Wanted: TypeAlias = tuple[bool, bytes, re.Pattern[bytes]]
"""Whether something must stand before a literal, the literal, and both as an expression."""


class LiteralSearch:
    """Finds the lines of blocks that contain a literal, or something that is to be cleaned away first."""

    def __init__(self, patterns: Iterable[LogPattern], use_re2: bool = True) -> None:
        wanted = list(patterns)
        self._literals = _shortest(pattern.literal for pattern in wanted if not pattern.before)
        self._behind = [(pattern.before, pattern.literal) for pattern in wanted if pattern.before]
        self._engine = _re2(self._expressions()) if use_re2 else None
        words = [*(("", literal) for literal in self._literals), *self._behind]
        self._wanted = [(word.encode().translate(None, _DIGITS), _wanted(before, word)) for before, word in words]
        self._shapes: dict[bytes, tuple[_Wanted, ...]] = {}

    def _expressions(self) -> Iterator[bytes]:
        yield from (re.escape(literal).encode() for literal in self._literals)
        yield from (_wanted(before, literal)[2].pattern for before, literal in self._behind)
        yield _UNCLEAN.pattern

    @property
    def has_re2(self) -> bool:
        """Whether RE2 does the work."""
        return self._engine is not None

    def searcher(self, block: bytes) -> Callable[[int], int]:
        """For one block: from a place to the next place of interest, -1 = none."""
        engine = self._engine
        if engine is None:
            return _In(self._places(block)).after
        matches, place = engine.finditer(block), -1

        def after(start: int) -> int:
            nonlocal place
            while place < start:
                match = next(matches, None)
                place = len(block) if match is None else match.start()
            return place if place < len(block) else -1

        return after

    def _places(self, block: bytes) -> Iterator[int]:
        """Where lines begin that contain a literal, and what is to be cleaned away."""
        at, shapes = 0, self._shapes
        for line, shape in zip(block.split(b"\n"), block.translate(None, _DIGITS).split(b"\n"), strict=True):
            candidates = shapes.get(shape)
            if candidates is None:
                candidates = self._candidates(shape)
            if candidates and any(
                wanted.search(line) if before else literal in line for before, literal, wanted in candidates
            ):
                yield at
            at += len(line) + 1
        if block.translate(None, _CLEAN):
            yield from (match.start() for match in _UNCLEAN.finditer(block))

    def _candidates(self, shape: bytes) -> tuple[_Wanted, ...]:
        """The literals that a line can contain that looks like this without its digits."""
        found = tuple(one for stripped, one in self._wanted if stripped in shape)
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        self._shapes[shape] = found
        return found


class _In:
    """Places that are known."""

    def __init__(self, places: Iterable[int]) -> None:
        self._places = sorted(places)

    def after(self, start: int) -> int:
        """The first at or behind `start`."""
        index = bisect_left(self._places, start)
        return self._places[index] if index < len(self._places) else -1


def _re2(expressions: Iterable[bytes]) -> Any:
    """All of them as one expression of RE2, which is bytes to bytes; None where it is not installed."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = 64 << 20
    return re2.compile(b"|".join(expressions), options)


def _wanted(before: str, literal: str) -> _Wanted:
    expression = (f"[{re.escape(before)}]" if before else "") + re.escape(literal)
    return bool(before), literal.encode(), re.compile(expression.encode())


def _shortest(literals: Iterable[str]) -> tuple[str, ...]:
    """The literals without those that contain another one: a line with the longer has the shorter too."""
    wanted = set(literals)
    return tuple(literal for literal in sorted(wanted, key=len) if wanted.isdisjoint(_inside(literal)))


@lru_cache(maxsize=2048)
def _inside(literal: str) -> frozenset[str]:
    """The literals of all patterns that this one contains."""
    return frozenset(other for other in base.all_literals() if other in literal and other != literal)
