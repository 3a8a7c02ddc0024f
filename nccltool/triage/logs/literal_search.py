"""Which lines are worth taking apart: those that contain the literal of a pattern. Most lines contain none.

Whole blocks are searched, not lines: with RE2, which looks for all literals in one pass. Without it Python's own
search looks for one literal after the other, but only once in lines that differ in nothing but digits. Both find
the same lines.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeAlias

from nccltool.triage.logs.patterns import LogPattern, all_literals, behind, re2_if_installed

_UNCLEAN = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])"
)
"""What is taken out of a line before it is read: a literal can stand around it."""

_CLEAN = bytes((*range(32, 127), *b"\t\n\r"))
_DIGITS = b"0123456789"
_MOST_SHAPES = 20_000
_Wanted: TypeAlias = tuple[bytes, re.Pattern[bytes] | None]
"""A literal, and, where something must stand before it, both as an expression."""


class LiteralSearch:
    """Finds the lines of blocks that contain a literal, or something that is to be cleaned away first."""

    def __init__(self, patterns: Iterable[LogPattern]) -> None:
        wanted = list(patterns)
        words = [("", literal) for literal in _shortest(item.literal for item in wanted if not item.before)]
        words += [(item.before, item.literal) for item in wanted if item.before]
        self._engine = _engine([*(behind(*word).encode() for word in words), _UNCLEAN.pattern])
        self._wanted = [(word.encode().translate(None, _DIGITS), _wanted(before, word)) for before, word in words]
        self._shapes: dict[bytes, tuple[_Wanted, ...]] = {}

    def searcher(self, block: bytes) -> Callable[[int], int]:
        """For one block: from a place, and each time from a later one, to the next of interest; -1 = none."""
        if self._engine is None:
            places = iter(sorted(self._places(block)))
        else:
            places = (match.start() for match in self._engine.finditer(block))
        place = -1

        def after(start: int) -> int:
            nonlocal place
            while place < start:
                place = next(places, len(block))
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
                literal in line if wanted is None else wanted.search(line) for literal, wanted in candidates
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


def _engine(expressions: Iterable[bytes]) -> Any:
    """All of them as one expression of RE2, which is bytes to bytes; None where it is not installed."""
    re2, options = re2_if_installed()
    if re2 is None:
        return None
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(b"|".join(expressions), options)


def _wanted(before: str, literal: str) -> _Wanted:
    return literal.encode(), re.compile(behind(before, literal).encode()) if before else None


def _shortest(literals: Iterable[str]) -> tuple[str, ...]:
    """The literals without those that contain another one: a line with the longer has the shorter too."""
    wanted = set(literals)
    return tuple(literal for literal in sorted(wanted, key=len) if wanted.isdisjoint(_inside(literal)))


@cache
def _inside(literal: str) -> frozenset[str]:
    """The literals of all patterns that this one contains."""
    return frozenset(other for other in all_literals() if other in literal and other != literal)
