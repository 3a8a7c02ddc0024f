"""The pages of docs/ that the command line shows: in the wheel below nccltool/docs, else beside the package."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def folder() -> Path:
    inside = _PACKAGE / "docs"
    return inside if inside.is_dir() else _PACKAGE.parent / "docs"


@cache
def page(name: str) -> str:
    """The Markdown of a page, by its path below docs/."""
    return (folder() / name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it, up to the next heading of any level."""

    title: str
    """Without the backticks of code."""
    level: int
    above: str
    """The title of the section around it."""
    text: str


@cache
def sections(name: str) -> tuple[Section, ...]:
    """The sections of a page, in their order."""
    return tuple(_sections(page(name)))


def _sections(text: str) -> Iterator[Section]:
    blank = _FENCED.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)  # a comment in a shell is no heading
    found = list(_HEADING.finditer(blank))
    ends = [*(heading.start() for heading in found[1:]), len(text)]
    around: list[str] = []
    for heading, end in zip(found, ends, strict=True):
        level, title = len(heading[1]), heading[2].replace("`", "")
        around = [*around, *[""] * level][: level - 1]
        yield Section(title, level, around[-1] if around else "", text[heading.end() : end].strip())
        around.append(title)


def section(name: str, title: str) -> str:
    """The text of the section with this title; "" where the page has none."""
    return next((one.text for one in sections(name) if one.title == title), "")


@cache
def rows(text: str) -> tuple[tuple[str, ...], ...]:
    """The rows of the tables in a text, without their headers."""
    return tuple(_rows(text))


def _rows(text: str) -> Iterator[tuple[str, ...]]:
    for line, below in pairwise([*(line.strip() for line in text.splitlines()), ""]):
        if line.startswith("|") and not is_rule(line) and not is_rule(below):
            yield cells(line)


def cells(line: str) -> tuple[str, ...]:
    """The cells of a row."""
    return tuple(cell.strip().replace("\\|", "|") for cell in _BETWEEN_CELLS.split(line.strip())[1:-1])


def is_rule(line: str) -> bool:
    """Whether this is the line below the headers of a table."""
    return bool(re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", line.strip()))


def words(cell: str) -> tuple[str, ...]:
    """What a first cell names: each piece of code; of one without code, each word between commas."""
    return tuple(re.findall(r"`([^`]+)`", cell)) or tuple(word.strip() for word in cell.split(","))
