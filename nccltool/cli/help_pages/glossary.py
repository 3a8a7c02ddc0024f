"""Words of the glossary."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, titled
from nccltool.core import manual

ABOUT = "words used in pages, help texts, and output"
_PAGE = "glossary.md"


def _rows() -> dict[str, str]:
    found: dict[str, str] = {}
    for section in manual.sections(_PAGE):
        for first, meaning in manual.rows(section.text):
            found |= dict.fromkeys(manual.words(first), meaning)
    return found


def names() -> Sequence[str]:
    return tuple(_rows())


def page(word: str) -> str | None:
    name = known(word, names())
    return titled(name, "word", _rows()[name]) if name else None
