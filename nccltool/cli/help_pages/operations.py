"""Operations of probe, with the factor that makes busbw of algbw."""

from collections.abc import Iterator, Sequence

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
    lines = [*_lines(name), f"- measure it: `nccltool probe --op {name}`"]
    return titled(name, "operation", "\n".join(lines))


def _lines(name: str) -> Iterator[str]:
    if plugin := collectives.origin(name):
        yield f"- {collectives.about(name)}"
        yield f"- it comes with the {plugin.title}"
        return
    text = manual.section("concepts.md", "The factors")
    size, count, factor = next(rest for first, *rest in manual.rows(text) if manual.words(first) == (name,))
    yield f"- size: {size}"
    yield f"- count, as in nccl-tests: {count}"
    yield f"- busbw: algbw x {factor}, where n is the number of ranks"
