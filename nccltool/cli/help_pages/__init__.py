"""The page that a word asks for, or what is like it: each kind of names that is ever printed is a file here."""

import difflib
from collections.abc import Iterator, Sequence
from typing import cast

from nccltool.cli.help_pages.base import PageKind, normal
from nccltool.core import members
from nccltool.core.errors import BadInput
from nccltool.core.look import PLAIN, Look
from nccltool.core.markdown import WIDTH, to_text
from nccltool.core.text import escaped, shortened
from nccltool.hosts.nccl import variables as nccl_variables
from nccltool.preflight.stages import NAMES as STAGES

_SHORTEST = 3
"""Characters of a word to which others are alike."""
_LONGEST = 80
_MOST_NEAR = 3
_FIRST = (
    *("findings", "root-causes", "rules", "checks", "stages", "suites", "alerts", "metrics", "exit-codes"),
    *("columns", "glossary", "operations", "strategies", "variables", "own-variables", "json-fields"),
)
KINDS = members.names(__path__, first=_FIRST)
"""As users write them. A word that several know has a page of each, in this order."""


def find(word: str, look: Look = PLAIN) -> str:
    """The pages of a word, as text; of a kind, its names. Raises BadInput that names what is like the word."""
    stage, _, rest = word.partition("/")
    found = _pages(word) or (_pages(rest) if normal(stage) in STAGES else [])
    if not found:
        raise _unknown(word)
    return "\n".join(to_text(text, _width(look), look) for text in found)


def _pages(word: str) -> list[str]:
    found = {kind: text for kind in KINDS if (text := _kind(kind).page(word))}
    return [*found.values(), *(_all_of(kind) for kind in KINDS if normal(word) == kind and kind not in found)]


def _width(look: Look) -> int:
    """Lines of text are not longer on a wider screen, to be read with ease."""
    return min(look.width or WIDTH, WIDTH)


def overview(look: Look = PLAIN) -> str:
    """The kinds of names that have pages, with an example of each."""
    rows = [f"| {kind} | {len(_kind(kind).names())} | {_kind(kind).ABOUT} |" for kind in KINDS]
    usage = "`nccltool explain WORD` shows the page of a name, `nccltool explain KIND` its names."
    table = ["| kind | names | what they are |", "|---|---|---|", *rows]
    return to_text("\n".join([*table, "", usage]), _width(look), look)


def names_of(kind: str) -> Sequence[str]:
    return _kind(kind).names()


def _kind(name: str) -> PageKind:
    return cast(PageKind, members.module(__name__, name))


def _all_of(kind: str) -> str:
    return f"# {kind}: {_kind(kind).ABOUT}\n\n{', '.join(_kind(kind).names())}\n"


def _unknown(word: str) -> BadInput:
    near = list(dict.fromkeys(_near(word[:_LONGEST])))[:_MOST_NEAR] if len(word) >= _SHORTEST else []
    hint = f"did you mean {' or '.join(near)}?" if near else "nccltool explain lists what has a page"
    return BadInput(f"unknown word {escaped(shortened(word, _LONGEST))!r}", hint)


def _near(word: str) -> Iterator[str]:
    yield from nccl_variables.nearest(word)
    by_key = {kind: kind for kind in KINDS}
    for kind in reversed(KINDS):  # of names that are spelled alike, that of the first kind
        by_key |= {normal(name): name for name in _kind(kind).names() if kind != "variables"}
    yield from (by_key[key] for key in difflib.get_close_matches(normal(word), by_key, n=_MOST_NEAR))
