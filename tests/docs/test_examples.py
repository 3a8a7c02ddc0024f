"""What the pages of commands show is what the commands print; scripts/examples prints it anew."""

import os
from pathlib import Path

import pytest

from tests.docs.examples import Example, examples, play, shape, written
from tests.docs.pages import PAGES, ROOT

SLOW = {"docs/commands/train.md", "docs/commands/preflight.md"}
"""Their examples take more than a minute."""


def _pages() -> list[object]:
    named = [(page, str(page.relative_to(ROOT))) for page in PAGES if any(examples(page))]
    return [pytest.param(page, id=name, marks=pytest.mark.slow if name in SLOW else ()) for page, name in named]


@pytest.mark.parametrize("page", _pages())
def test_a_page_shows_what_is_printed(page: Path, tmp_path: Path) -> None:
    for index in range(len(list(examples(page)))):
        example = list(examples(page))[index]  # an update of the one before moved it
        if example.not_run is None:
            _hold(example, tmp_path)


def _hold(example: Example, folder: Path) -> None:
    said = list(play(example, folder))
    if os.environ.get("UPDATE_GOLDEN"):
        written(example, said)
        return
    for step, now in zip(example.steps, said, strict=True):
        there = shape(step.printed, example.may_print)
        assert shape(now, example.may_print) == there, f"{step.line}\nprinted now:\n{now}"
