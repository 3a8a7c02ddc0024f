"""Exit codes: `3`, `exit 3`, `exit code 3`; and `exit-codes` for all of them."""

import re
from collections.abc import Sequence

from nccltool.cli.help_pages.base import normal
from nccltool.core import manual

ABOUT = "exit codes of all commands"
_PAGE = "exit-codes.md"
_ALL = ("exit-codes", "exit-code")
_WORD = re.compile(r"(?:exit-?)?(?:codes?-?)?(\d+)")


def _rows() -> dict[str, tuple[str, ...]]:
    """By code: status and meaning; the first table of the page has them."""
    (first, *_) = manual.sections(_PAGE)
    return {code: rest for code, *rest in map(list, manual.rows(first.text))}  # type: ignore[misc]


def names() -> Sequence[str]:
    return tuple(_rows())


def page(word: str) -> str | None:
    if normal(word) in _ALL:
        return manual.page(_PAGE)
    found = _WORD.fullmatch(normal(word))
    if not found or found[1] not in _rows():
        return None
    status, meaning = _rows()[found[1]]
    of = f"; status {status}" if status else ""
    return f"# exit code {found[1]}{of}\n\n{meaning}.\n\nAll exit codes: `nccltool explain exit-codes`\n"
