"""Pages of docs/: their sections and the rows of their tables."""

from pathlib import Path

import pytest

from nccltool.core import manual

PAGE = """\
# Title

first

| a | b |
|---|---|
| `x`, `y` | one \\| two |
| plain | `a | b` |

## Part

```sh
# no heading
```

### `code`

text
"""


@pytest.fixture(autouse=True)
def _page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manual, "page", lambda name: PAGE)
    manual.sections.cache_clear()


def test_sections_end_at_the_next_heading() -> None:
    assert [(one.title, one.level, one.above) for one in manual.sections("p")] == [
        ("Title", 1, ""),
        ("Part", 2, "Title"),
        ("code", 3, "Part"),
    ]
    assert manual.section("p", "code") == "text"
    assert manual.section("p", "Part") == "```sh\n# no heading\n```"
    assert manual.section("p", "none") == ""


def test_rows_are_without_headers() -> None:
    assert manual.rows("") == ()
    assert manual.rows(PAGE) == (("`x`, `y`", "one | two"), ("plain", "`a", "b`"))


@pytest.mark.parametrize(
    ("cell", "words"),
    [("`x`, `y`", ("x", "y")), ("algbw", ("algbw",)), ("iteration, sample", ("iteration", "sample"))],
)
def test_words_of_a_cell(cell: str, words: tuple[str, ...]) -> None:
    assert manual.words(cell) == words


def test_pages_are_found_in_a_checkout_and_in_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site/nccltool"
    package.mkdir(parents=True)
    monkeypatch.setattr(manual, "_PACKAGE", package)
    assert manual.folder() == tmp_path / "site/docs"
    (package / "docs").mkdir()
    assert manual.folder() == package / "docs"
