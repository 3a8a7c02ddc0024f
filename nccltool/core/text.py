"""Text of hosts, logs and users on its way to people: nothing in it acts on their terminal."""

import re
import sys
from collections.abc import Iterable, Sequence

_NOISE = re.compile(r"The hostname of the client socket cannot be retrieved\. err=-\d+")
"""torch's store says so of every peer without a reverse name; it is the cause of nothing."""


def is_noise(line: str) -> bool:
    """Whether a line of a log is known to tell nothing."""
    return bool(_NOISE.search(line))


class LineCutter:
    """Cuts what comes in pieces into lines, without their ends; one that gets longer than `longest` is cut too."""

    def __init__(self, longest: int = sys.maxsize) -> None:
        self._longest, self._rest = longest, b""

    def take(self, piece: bytes) -> list[bytes]:
        """The lines that are whole with this piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [*lines, *self.end()] if len(self._rest) > self._longest else lines

    def end(self) -> list[bytes]:
        """The last line, where it has no end."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


def escaped(text: str) -> str:
    """`text` with each character that does not show as it is written as an escape."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode()
        for letter in text
    )


def escaped_lines(text: str) -> list[str]:
    """The lines of `text`, each escaped."""
    return [escaped(line) for line in text.split("\n")]


def shortened(text: str, longest: int) -> str:
    """`text`, or its beginning and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


def listed(words: Iterable[str], most: int = 8) -> str:
    """The words with commas between them; `, ...` where there are more."""
    every = list(words)
    return ", ".join(every[:most]) + (", ..." if len(every) > most else "")


def named(words: Iterable[str], most: int, between: str = ", ") -> str:
    """The words with commas between them; `and 3 more` where there are more."""
    every = list(words)
    return between.join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def comma_separated(texts: Iterable[str]) -> tuple[str, ...]:
    """The words of an option that may be given several times, with several words each."""
    return tuple(word.strip() for text in texts for word in text.split(",") if word.strip())


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that may have been meant; empty = none is near."""
    import difflib  # not above: commands that are spelt right do not need it

    return next(iter(difflib.get_close_matches(word, list(known), n=1)), "")


def did_you_mean(word: str, known: Sequence[str], *more: str) -> str:
    """The remedy for a word that is not known; `more` are words that nobody means by mistake."""
    near = nearest(word, known)
    return f"{f'did you mean {near}? ' if near else ''}choose from {', '.join((*known, *more))}"


def counted(count: int, word: str) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def whole(text: str, most_digits: int = 18) -> int | None:
    """The number that plain digits write; None for all else. `int` fails on superscripts, which are digits for
    `isdigit`, and on thousands of digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else None
