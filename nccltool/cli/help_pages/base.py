"""What a kind of pages is: a file of this folder, with the names that it knows and the page of each.

ABOUT           one line: what its names are; the file's name is that of the kind, as `exit-codes`
names()         every name, spelled as it is printed
page(word)      the page in Markdown, for a name in any spelling; None when it is not one of these
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol


class PageKind(Protocol):
    """A file of this folder."""

    ABOUT: str

    def names(self) -> Sequence[str]:
        """Every name, as it is printed."""

    def page(self, word: str) -> str | None:
        """In Markdown; None when the word is not one of these."""


@lru_cache(maxsize=16384)  # every name, for each word that a program asks for
def normal(word: str) -> str:
    """A word without what differs from writer to writer: case, and blanks, underscores or hyphens inside."""
    return re.sub(r"[\s_-]+", "-", word.strip().strip("`'\"").lower()).strip("-") or word


def known(word: str, names: Iterable[str]) -> str | None:
    """The name that a word means."""
    wanted = normal(word)
    return next((name for name in names if normal(name) == wanted), None)


def titled(name: str, what: str, text: str) -> str:
    """A page: its title says what kind of thing the name is."""
    return f"# {name} ({what})\n\n{text}\n"


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, as they come."""
    return tuple(dict.fromkeys(names))
