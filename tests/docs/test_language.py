"""Texts people see hold none of the words that docs/style.md has in its table."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.docs.pages import PAGES, ROOT

STYLE = ROOT / "docs/style.md"
NOT_PROSE = frozenset({"docs/CHANGELOG.md", "docs/files.md", "docs/style.md"})
"""History, a list of the docstrings of modules, and the words themselves."""

_ROW = re.compile(r"^\| (`[^|]+`) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
AVOID = [word for row in _ROW.findall(STYLE.read_text()) for word in re.findall(r"`([^`]+)`", row)]
_LONGEST_FIRST = sorted(AVOID, key=len, reverse=True)
_WORDS = "|".join(r"\s+".join(re.escape(part) for part in word.split()) for word in _LONGEST_FIRST)
_AVOID = re.compile(rf"(?<![\w./-])(?:{_WORDS})(?![\w/=(-]|\.\w)", re.IGNORECASE)
_NOT_TEXT = re.compile(
    r"^```(?!console|text)\w+\n.*?^```$"  # code; what a console shows is text
    r"|^\$ [^\n]*$"  # a command
    r"|`[^`\n]+`"  # an identifier
    r'|"[\w.-]+":'  # a JSON key
    r"|\]\([^)]*\)"  # where a link leads
    r"|^<!--.*?-->$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Text:
    """Words that somebody reads, and where they stand."""

    path: str
    line: int
    words: str

    def avoidable(self) -> Iterator[str]:
        for found in _AVOID.finditer(self.words):
            line = self.line + self.words.count("\n", 0, found.start())
            yield f"{self.path}:{line}: {' '.join(found[0].split())!r}"


def of_page(path: str, text: str) -> Text:
    """A page without what is not prose; each line keeps its number."""
    return Text(path, 1, _NOT_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text))


def of_module(path: str, source: str) -> Iterator[Text]:
    """String literals of more than one word. Docstrings that are shown are in the pages made of them."""
    tree = ast.parse(source)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in bare or not isinstance(node.value, str):
            continue
        if re.search(r"\w\s+\w", node.value.strip()) or node.value != node.value.strip():
            yield Text(path, node.lineno, re.sub(r"`[^`\n]+`", "", node.value))


def every_text() -> Iterator[Text]:
    for page in PAGES:
        if (name := str(page.relative_to(ROOT))) not in NOT_PROSE:
            yield of_page(name, page.read_text())
    for folder, pattern in (("checks", "*.toml"), ("docs/monitoring", "*.yml"), ("nccltool", "*.json")):
        for file in sorted((ROOT / folder).rglob(pattern)):
            if file.parent.name == "schemas":  # names of keys, which stay as they are
                continue
            yield Text(str(file.relative_to(ROOT)), 1, file.read_text())
    for module in sorted((ROOT / "nccltool").rglob("*.py")):
        yield from of_module(str(module.relative_to(ROOT)), module.read_text())


def test_the_page_of_style_has_its_table() -> None:
    assert len(AVOID) == len(set(AVOID)) > 40


def test_no_text_has_a_word_to_avoid() -> None:
    assert [place for text in every_text() for place in text.avoidable()] == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("one\n\nThe drill\nis kept\nin a file.", ["p.md:3: 'drill'", "p.md:4: 'kept in'"]),
        ("The `rung` of [a page](docs/rung.md), and a Rung.", ["p.md:1: 'Rung'"]),
        ("```python\njudge = 1\n```\nthe judge", ["p.md:4: 'judge'"]),
        ('```console\n$ nccltool drill\noffender  rank 3\n"offender": 3\n```', ["p.md:3: 'offender'"]),
        ("Judgemental drilling, judge.py, judge(run), a-drill.", []),
    ],
)
def test_words_are_found_in_pages(page: str, found: list[str]) -> None:
    assert list(of_page("p.md", page).avoidable()) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('say("anyhow, go on")', ["m.py:1: 'anyhow'"]),
        ('say(\n    f"{host} is not "\n    f"there"\n)', ["m.py:2: 'is not there'"]),
        ('"""The judge of runs."""\nkind = "judge"\nx = {"oracle": 1}', []),
        ("class A:\n    x: int\n    '''What came of it.'''\n", []),
    ],
)
def test_words_are_found_in_modules(source: str, found: list[str]) -> None:
    assert [place for text in of_module("m.py", source) for place in text.avoidable()] == found
