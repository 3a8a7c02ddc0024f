"""Environment variables of nccltool itself: those that stand for an option, and the few others."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, titled
from nccltool.core import manual

ABOUT = "environment variables of nccltool itself"
_PREFIX = "NCCLTOOL_"


def _rows() -> dict[str, str]:
    from nccltool.cli.root import cli  # which has all commands, this one among them
    from nccltool.cli.tree import Option, leaves

    found: dict[str, str] = {}
    for first, *rest in manual.rows(manual.page("environment.md")):
        found |= {name: f"{'; '.join(rest)}." for name in manual.words(first) if name.startswith(_PREFIX)}
    takers: dict[str, list[str]] = {}
    for path, command in leaves(cli):
        for option in command.params:
            if isinstance(option, Option) and option.envvar:
                found.setdefault(str(option.envvar), f"Sets `{max(option.opts, key=len)}`: {option.help}")
                takers.setdefault(str(option.envvar), []).append(f"`{' '.join(path)}`")
    return {
        name: f"{text}\n\nUsed by {', '.join(takers[name])}." if name in takers else text
        for name, text in found.items()
    }


def names() -> Sequence[str]:
    return tuple(_rows())


def page(word: str) -> str | None:
    name = known(word.partition("=")[0], names())
    return titled(name, "environment variable", _rows()[name]) if name else None
