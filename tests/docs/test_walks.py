"""The walks of docs/architecture.md name functions that there are."""

import ast
import re
from itertools import pairwise

import pytest

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text()
SECTION = PAGE.partition("\n## Walks\n")[2].partition("\n## ")[0]
WALKS = {
    walk.partition("\n")[0]: re.findall(r"^\d+\. (.*)$", walk, re.MULTILINE)
    for walk in SECTION.split("\n### ")[1:]
}
MOST_STEPS = 8
MOST_WORDS = 2000


def _body(path: list[str]) -> list[ast.stmt]:
    """The statements of a module; read and not imported, as modules under worker/ need torch."""
    file = ROOT.joinpath("nccltool", *path)
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    return ast.parse(file.read_text()).body if file.exists() else []


def _defines(body: list[ast.stmt], names: list[str]) -> bool:
    """Whether a function is defined here: by itself, or as the method of a class."""
    first, *rest = names
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == first:
            return _defines(node.body, rest) if rest else not isinstance(node, ast.ClassDef)
    return False


def _exists(name: str) -> bool:
    parts = name.split(".")
    return any(_defines(_body(parts[:cut]), parts[cut:]) for cut in range(1, len(parts)))


def test_there_are_nine_walks() -> None:
    assert len(WALKS) == 9


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_names_functions_that_exist(walk: str) -> None:
    steps = [re.fullmatch(r"`([\w.]+)` \S.*", step) for step in WALKS[walk]]
    assert None not in steps
    names = [step[1] for step in steps if step]
    assert 3 <= len(names) <= MOST_STEPS
    assert [name for name in names if not _exists(name)] == []
    assert all(one != next_one for one, next_one in pairwise(names))


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", PAGE))
    assert named
    roots = (ROOT / "nccltool", ROOT)
    assert {name for name in named if not any((root / name).exists() for root in roots)} == set()


def test_the_page_stays_short() -> None:
    assert sum(any(letter.isalpha() for letter in word) for word in PAGE.split()) < MOST_WORDS
