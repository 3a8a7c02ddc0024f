"""docs/rules is made of the docstrings of the rules; UPDATE_GOLDEN=1 writes it."""

import os
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from nccltool.doctor import pages, rules
from nccltool.doctor.diagnosis import RulePage
from nccltool.doctor.rules.base import Rule
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs/rules"


def _families() -> Iterator[tuple[str, str, tuple[RulePage, ...]]]:
    """(letters, what they are about, pages) of each family of rules."""
    by_family: dict[str, list[Rule]] = {}
    for rule in rules.every():
        by_family.setdefault(rule.family, []).append(rule)
    for name, members in by_family.items():
        homes = dict.fromkeys(_home(rule.function.__module__) for rule in members)
        summary = " ".join(" ".join((home.__doc__ or "").split("\n\n")[0].split()) for home in homes)
        yield name, summary, tuple(rule.page for rule in members)


def _home(name: str) -> ModuleType:
    """The module of a rule; of one in a folder whose rules are all of one family, the folder."""
    module = sys.modules[name]
    folder = str(module.__package__)
    families = {rule.family for rule in rules.every() if rule.function.__module__.startswith(f"{folder}.")}
    return module if len(families) > 1 else sys.modules[folder]


FAMILIES = {name: (summary, members) for name, summary, members in _families()}


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
    head = "# Rules of the doctor\n\n`nccltool doctor` checks these rules; `nccltool explain CODE` shows one.\n\n"
    _hold("README.md", head + "\n".join(["| family | rules | about |", "|---|---|---|", *rows]) + "\n")


def test_nothing_else_is_there() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {"README.md", *(f"{name}.md" for name in FAMILIES)}


@pytest.mark.parametrize("members", [members for _, members in FAMILIES.values()], ids=FAMILIES)
def test_pages_have_short_titles(members: tuple[RulePage, ...]) -> None:
    assert all(len(page.name) <= 32 for page in members)
