"""Strategies of train."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, titled
from nccltool.core import manual
from nccltool.train import strategies

ABOUT = "strategies that nccltool train checks"


def names() -> Sequence[str]:
    return strategies.WORDS


def page(word: str) -> str | None:
    name = known(strategies.word_of(word), names())
    if name is None:
        return None
    text = manual.section("strategies.md", "Strategies")
    told = next("; ".join(rest) for first, *rest in manual.rows(text) if manual.words(first) == (name,))
    return titled(name, "strategy", f"{told}\n\nTrain with it: `nccltool train {name}`")
