"""docs/rules is made of the docstrings of the rules; UPDATE_GOLDEN=1 writes it."""

import os

import pytest

from nccltool.cli import help_pages
from nccltool.doctor import pages
from nccltool.doctor.diagnosis import RulePage
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs/rules"
FAMILIES = {name: (summary, members) for name, summary, members in help_pages.families()}


def _hold(name: str, text: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        (FOLDER / name).write_text(text)
    assert (FOLDER / name).read_text() == text


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_as_its_docstrings_say(name: str) -> None:
    summary, members = FAMILIES[name]
    _hold(f"{name}.md", pages.family(name, summary, members))


def test_the_list_of_families() -> None:
    rows = [
        f"| [{name}]({name}.md) | {len(members)} | {pages.plain(summary)} |"
        for name, (summary, members) in FAMILIES.items()
    ]
    head = "# Rules of the doctor\n\n`nccltool doctor` asks them; `nccltool explain CODE` shows one.\n\n"
    _hold("README.md", head + "\n".join(["| family | rules | about |", "|---|---|---|", *rows]) + "\n")


def test_nothing_else_is_there() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {"README.md", *(f"{name}.md" for name in FAMILIES)}


@pytest.mark.parametrize("members", [members for _, members in FAMILIES.values()], ids=FAMILIES)
def test_pages_have_short_titles(members: tuple[RulePage, ...]) -> None:
    assert all(len(page.name) <= 32 for page in members)
