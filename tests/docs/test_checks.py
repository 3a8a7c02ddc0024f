"""What preflight links to is there, and every key of a suite is explained."""

import re
from importlib import import_module

import pytest

from nccltool.preflight import probe_run, stage_run, stages
from nccltool.preflight import suite_reader as reader
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import PAGE, Check
from nccltool.preflight.suite import METRICS, Expectation, Match
from tests.docs.pages import ROOT

RUNBOOK = ROOT / PAGE
README = (ROOT / "checks/README.md").read_text()
PARTS = re.split(r"^### ", RUNBOOK.read_text(), flags=re.MULTILINE)[1:]
ANCHORS = {re.sub(r"[^\w-]", "", part.splitlines()[0].lower()): part for part in PARTS}
STAGES = [import_module(f"{stages.__name__}.{one.name}") for one in stages.every()]
DECLARED = [
    one for module in (*STAGES, stage_run, probe_run) for one in vars(module).values() if isinstance(one, Check)
]
NAMED = {one.page.removeprefix(f"{PAGE}#") for one in DECLARED if one.page.startswith(PAGE)} | set(METRICS)


def test_every_page_that_a_check_names_is_there() -> None:
    assert set(ANCHORS) - NAMED == {"inventorypresent"}  # a finding has its own too
    assert set(ANCHORS) >= NAMED


@pytest.mark.parametrize("anchor", sorted(ANCHORS))
def test_a_page_says_what_it_means_and_what_to_do(anchor: str) -> None:
    text = ANCHORS[anchor]
    assert "**Meaning.**" in text or "As [" in text
    assert "**Fix.**" in text or "look at" in text.lower() or "](#" in text or "communication" in text


def test_every_key_of_a_suite_is_explained() -> None:
    words = set(re.findall(r"`([\w.]+)`", README))
    for stage in stages.every():
        assert {f"{stage.name}.{key}" for key in toml.keys(stage.part.of)} - words == set()
    rest = {
        *reader._TOP,
        *toml.keys(Expectation),
        *toml.keys(Match),
        *reader._COMPARISONS,
        *METRICS,
        "op",
        "strategy",
    }
    assert rest - {word.rpartition(".")[2] for word in words} == set()


def test_every_file_of_the_folder_is_named() -> None:
    names = {file.name for file in (ROOT / "checks").glob("*.toml")}
    assert {name for name in names if f"`{name}`" not in README} == set()
