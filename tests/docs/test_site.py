"""The site's table of contents has every page once."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.docs.pages import ROOT

DOCS = ROOT / "docs"
MADE = {"index.md", "checks.md"}
"""scripts/docs makes them of the README and of checks/README.md."""


class _Loader(yaml.SafeLoader):
    """The file has a tag of Python's for its anchors, which is of no interest here."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def pages(entry: object) -> Iterator[str]:
    match entry:
        case str():
            yield entry
        case list():
            for each in entry:
                yield from pages(each)
        case dict():
            for each in entry.values():
                yield from pages(each)


def test_every_page_is_in_the_contents_once() -> None:
    contents = yaml.load((ROOT / "scripts" / "mkdocs.yml").read_text(), _Loader)["nav"]
    there = {str(Path(page).relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert sorted(pages(contents)) == sorted(there | MADE)
