"""A name that is not known, in the one wording that every command, option, file and list uses."""

from collections.abc import Iterable

from nccltool.core.errors import BadInput
from nccltool.core.text import listed, nearest, shortened

_LONGEST = 80
"""Characters of the word that are shown, and compared."""
_SHORTEST = 3
"""Characters of a word that others can resemble."""
_MOST = 12
"""Known names that are listed."""


def unknown(
    what: str, word: str, known: Iterable[str], see: str = "", *, option: str = "", where: str = ""
) -> BadInput:
    """The error: `unknown WHAT 'WORD'`, the nearest known name, and all names or the command that lists them."""
    names = tuple(known)
    place = f"{option}: " if option else ""
    message = f"{place}unknown {what} {shortened(word, _LONGEST)!r}{where and f' {where}'}"
    return BadInput(message, suggestion(word, names, see))


def suggestion(word: str, known: Iterable[str], see: str = "") -> str:
    """The remedy for a name that is not known."""
    names = tuple(known)
    bare = {name.lstrip("-"): name for name in names}  # two dashes are half of a short word
    near = bare.get(nearest(word[:_LONGEST].lstrip("-"), bare), "") if len(word) >= _SHORTEST else ""
    rest = see or (f"choose from {listed(names, _MOST)}" if names else "")
    return " ".join(part for part in (near and f"did you mean {near}?", rest) if part)
