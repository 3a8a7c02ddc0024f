"""Keys of JSON documents, as the pages on JSON have them: `busbw_bytes_per_s`, `measurements[].late_s`."""

from collections.abc import Iterator, Sequence

from nccltool.cli.help_pages.base import in_order, known, titled
from nccltool.core import manual

ABOUT = "keys of JSON documents"
_PAGES = ("json.md", "json-train.md", "json-checks.md", "json-pairs.md", "json-attach.md")


def _rows() -> Iterator[tuple[str, str, str]]:
    """(key, the object that has it, what it means)."""
    for section in (one for page in _PAGES for one in manual.sections(page)):
        where = "the document" if section.level == 1 else section.title
        for first, kind, *rest in manual.rows(section.text):
            yield from ((key, where, f"{kind}: {'; '.join(rest)}".rstrip(": ")) for key in manual.words(first))


def names() -> Sequence[str]:
    return in_order(key for key, _, _ in _rows())


def page(word: str) -> str | None:
    where, _, key = word.strip().rpartition(".")
    name = known(key, names())
    if name is None:
        return None
    told = [(place, text) for one, place, text in _rows() if one == name]
    told = [(place, text) for place, text in told if place == where] or told
    return titled(name, "key of JSON", "\n".join(f"- {place}: {text}" for place, text in told))
