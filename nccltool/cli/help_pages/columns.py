"""Columns of tables and of CSV, and the notes of a row, as docs/output.md has them."""

import re
from collections.abc import Iterator, Sequence

from nccltool.cli.help_pages.base import in_order, known, titled
from nccltool.core import manual

ABOUT = "columns of tables and their values"
_PAGE = "output.md"
_UNIT = re.compile(r"[ (\[]+(GB/s|MB/s|us|ms|s|B|bytes|%|MiB|GiB)[)\]]?$")


def _rows() -> Iterator[tuple[str, str, str]]:
    """(column, where, what it means)."""
    for section in manual.sections(_PAGE):
        for first, *rest in manual.rows(section.text):
            yield from ((name, section.title, "; ".join(rest)) for name in manual.words(first))


def names() -> Sequence[str]:
    return in_order(name for name, _, _ in _rows())


def page(word: str) -> str | None:
    name = known(word, names()) or known(_UNIT.sub("", word.strip()), names())
    if name is None:
        return None
    told = [f"- {where}: {text}" for one, where, text in _rows() if one == name]
    return titled(name, "in the output", "\n".join(told))
