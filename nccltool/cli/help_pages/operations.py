"""Operations of probe, with the factor that makes busbw of algbw."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, titled
from nccltool.core import manual
from nccltool.probe import collectives

ABOUT = "operations that nccltool probe measures"


def names() -> Sequence[str]:
    return collectives.NAMES


def page(word: str) -> str | None:
    name = known(word, names())
    if name is None:
        return None
    text = manual.section("concepts.md", "The factors")
    size, count, factor = next(rest for first, *rest in manual.rows(text) if manual.words(first) == (name,))
    lines = [
        f"- size: {size}",
        f"- count, as in nccl-tests: {count}",
        f"- busbw: algbw x {factor}, where n is the number of ranks",
        f"- measure it: `nccltool probe --op {name}`",
    ]
    return titled(name, "operation", "\n".join(lines))
