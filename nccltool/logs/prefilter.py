"""Which lines are worth taking apart: those that contain the literal of a pattern. Most lines contain none."""

from collections.abc import Callable, Iterable

from nccltool.logs.base import Pattern


def matters(patterns: Iterable[Pattern]) -> Callable[[str], bool]:
    """A function that tells whether a line contains a literal of these patterns."""
    literals = _shortest(pattern.literal for pattern in patterns)

    def found(text: str) -> bool:
        return any(literal in text for literal in literals)

    return found


def _shortest(literals: Iterable[str]) -> tuple[str, ...]:
    """The literals without those that contain another one: a line with the longer has the shorter too."""
    kept: list[str] = []
    for literal in sorted(set(literals), key=len):
        if not any(short in literal for short in kept):
            kept.append(literal)
    return tuple(kept)
