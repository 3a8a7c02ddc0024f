"""docs/glossary.md: each word once, and modules that there are."""

import re

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/glossary.md").read_text()
WORDS, _, RENAMED = PAGE.partition("\n## Renamed\n")


def test_each_word_has_one_sentence() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", WORDS, re.MULTILINE)
    words = [word.strip() for row, _ in rows if row != "word" for word in row.split(",")]
    assert len(words) > 60
    assert len(words) == len(set(words))
    assert [meaning for _, meaning in rows if meaning.rstrip().endswith(".")] == []


def test_modules_are_where_the_table_says() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`.*) \|$", RENAMED, re.MULTILINE)
    assert rows
    for room, names in rows:
        for new in re.findall(r"`[\w.]+` `([\w.]+)`", names):
            file = ROOT.joinpath("nccltool", room, *new.split("."))
            assert file.is_dir() or file.with_suffix(".py").exists(), f"{room}.{new}"
