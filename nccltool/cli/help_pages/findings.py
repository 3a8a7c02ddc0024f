"""Codes of findings, and those of differences between hosts: sections of their pages."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, titled
from nccltool.core import manual
from nccltool.core.findings import MANUAL_PAGES

ABOUT = "what a run or a comparison of hosts found"
_PAGES = (*MANUAL_PAGES, "differences.md")
_LEVEL = 3


def _sections() -> dict[str, str]:
    return {one.title: one.text for page in _PAGES for one in manual.sections(page) if one.level == _LEVEL}


def names() -> Sequence[str]:
    return tuple(_sections())


def page(word: str) -> str | None:
    name = known(word, names())
    return titled(name, "finding", _sections()[name]) if name else None
