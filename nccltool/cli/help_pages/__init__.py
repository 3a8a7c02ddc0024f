"""The page that a word asks for, or what is like it: each kind of names that is ever printed is a file here."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from nccltool.cli.help_pages.base import PageKind, normal
from nccltool.core import documents, members
from nccltool.core.errors import BadInput
from nccltool.core.look import PLAIN, Look
from nccltool.core.markdown import WIDTH, to_text
from nccltool.core.text import shortened
from nccltool.hosts.nccl import spelling
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
_WHAT = re.compile(r" \([^()]*\)$")
KINDS = members.names(__path__, first=_FIRST)
"""As users write them. A word that several know has a page of each, in this order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KindOfWords:
    """A kind, and all of its names."""

    kind: str
    about: str
    names: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class HelpPage:
    """The page of a word, in Markdown."""

    kind: str
    text: str

    @property
    def name(self) -> str:
        """As it is printed: the title without what kind of thing it is."""
        return _WHAT.sub("", self.text.partition("\n")[0].removeprefix("# "))


def find(word: str, look: Look = PLAIN) -> str:
    """The pages of a word, as text; of a kind, its names. Raises BadInput that names what is like the word."""
    pages, kinds = _found(word)
    texts = (*(page.text for page in pages), *(_all_of(kind) for kind in kinds))
    return "\n".join(to_text(text, _width(look), look) for text in texts)


def to_json(word: str) -> str:
    """What `find` shows; without a word, all kinds. Raises BadInput."""
    pages, kinds = _found(word) if word else ([], [_kind_of_words(kind) for kind in KINDS])
    listed = [{"kind": page.kind, "name": page.name, "text": to_text(page.text, WIDTH, PLAIN)} for page in pages]
    return documents.headed("explain", word=word or None, pages=listed, kinds=kinds)


def _found(word: str) -> tuple[list[HelpPage], list[KindOfWords]]:
    """The pages of a word, and the kinds of that name. Raises BadInput."""
    stage, _, rest = word.partition("/")
    for one in (word, rest if normal(stage) in STAGES else ""):
        pages = [HelpPage(kind=kind, text=text) for kind in KINDS if one and (text := _kind(kind).page(one))]
        known = {page.kind for page in pages}
        kinds = [_kind_of_words(kind) for kind in KINDS if normal(one) == kind and kind not in known]
        if pages or kinds:
            return pages, kinds
    raise _unknown(word)


def _width(look: Look) -> int:
    """Lines of text are not longer on a wider screen, to be read with ease."""
    return min(look.width or WIDTH, WIDTH)


def overview(look: Look = PLAIN) -> str:
    """The kinds of names that have pages, with an example of each."""
    rows = [f"| {one.kind} | {len(one.names)} | {one.about} |" for one in map(_kind_of_words, KINDS)]
    usage = "`nccltool explain WORD` shows the page of a name, `nccltool explain KIND` its names."
    table = ["| kind | names | what they are |", "|---|---|---|", *rows]
    return to_text("\n".join([*table, "", usage]), _width(look), look)


def names_of(kind: str) -> Sequence[str]:
    return _kind(kind).names()


def _kind(name: str) -> PageKind:
    return cast(PageKind, members.module(__name__, name))


def _kind_of_words(kind: str) -> KindOfWords:
    return KindOfWords(kind=kind, about=_kind(kind).ABOUT, names=_kind(kind).names())


def _all_of(kind: KindOfWords) -> str:
    return f"# {kind.kind}: {kind.about}\n\n{', '.join(kind.names)}\n"


def _unknown(word: str) -> BadInput:
    near = list(dict.fromkeys(_near(word[:_LONGEST])))[:_MOST_NEAR] if len(word) >= _SHORTEST else []
    hint = f"did you mean {' or '.join(near)}?" if near else "nccltool explain lists every word that has a page"
    return BadInput(f"unknown word {shortened(word, _LONGEST)!r}", hint)


def _near(word: str) -> Iterator[str]:
    yield from (guess.name for guess in spelling.meant(word) if guess.name in nccl_variables.every())
    by_key = {kind: kind for kind in KINDS}
    for kind in reversed(KINDS):  # of names that are spelled alike, that of the first kind
        by_key |= {normal(name): name for name in _kind(kind).names() if kind != "variables"}
    yield from (by_key[key] for key in difflib.get_close_matches(normal(word), by_key, n=_MOST_NEAR))
