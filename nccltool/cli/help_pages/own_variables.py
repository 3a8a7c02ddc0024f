"""Environment variables of nccltool itself, most of which stand for an option."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, titled
from nccltool.core import manual

ABOUT = "environment variables of nccltool itself"
_PREFIX = "NCCLTOOL_"


def _rows() -> dict[str, str]:
    found: dict[str, str] = {}
    for first, *rest in manual.rows(manual.page("environment.md")):
        found |= {name: "; ".join(rest) for name in manual.words(first) if name.startswith(_PREFIX)}
    return found


def names() -> Sequence[str]:
    return tuple(_rows())


def page(word: str) -> str | None:
    name = known(word.partition("=")[0], names())
    return titled(name, "environment variable", f"For {_rows()[name]}.") if name else None
