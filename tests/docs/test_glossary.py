"""docs/glossary.md has each word once."""

import re

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/glossary.md").read_text()


def test_each_word_has_one_sentence() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    words = [word.strip() for row, _ in rows if row != "word" for word in row.split(",")]
    assert len(words) > 60
    assert len(words) == len(set(words))
    assert [meaning for _, meaning in rows if meaning.rstrip().endswith(".")] == []
