"""What preflight links to is there, and every key of a suite is explained."""

import re
from pathlib import Path

import pytest

from nccltool.preflight import judge, suites
from tests.docs.pages import ROOT

RUNBOOK = ROOT / judge.PAGE
README = (ROOT / "checks/README.md").read_text()
PARTS = re.split(r"^### ", RUNBOOK.read_text(), flags=re.MULTILINE)[1:]
ANCHORS = {re.sub(r"[^\w-]", "", part.splitlines()[0].lower()): part for part in PARTS}
SOURCE = Path(judge.__file__).read_text()
NAMED = set(re.findall(r"\{PAGE\}#([\w-]+)", SOURCE)) - {"reach"}
REACH = {f"reach{what}" for what in ("rendezvous", "ports", "path-mtu", "names")}


def test_every_page_that_a_check_names_is_there() -> None:
    assert len(NAMED) >= 3
    assert NAMED | REACH | set(suites.METRICS) <= set(ANCHORS)
    assert set(ANCHORS) - NAMED - REACH - set(suites.METRICS) == {"inventorypresent"}  # a finding has its own too


@pytest.mark.parametrize("anchor", sorted(ANCHORS))
def test_a_page_says_what_it_means_and_what_to_do(anchor: str) -> None:
    text = ANCHORS[anchor]
    assert "**Meaning.**" in text or "As [" in text
    assert "**Fix.**" in text or "look at" in text.lower() or "](#" in text or "communication" in text


def test_every_key_of_a_suite_is_explained() -> None:
    words = set(re.findall(r"`([\w.]+)`", README))
    for part, keys in suites._PARTS.items():
        assert {f"{part}.{key}" for key in keys} - words == set()
    rest = {*suites._TOP, *suites._EXPECT, *suites._MATCH, *suites._COMPARISONS, *suites.METRICS, "op", "strategy"}
    assert rest - {word.rpartition(".")[2] for word in words} == set()


def test_every_file_of_the_folder_is_named() -> None:
    names = {file.name for file in (ROOT / "checks").glob("*.toml")}
    assert {name for name in names if f"`{name}`" not in README} == set()
