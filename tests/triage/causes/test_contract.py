"""What every root cause must be: one of the contract, with a page, and shown by a log of ours."""

import ast
import os
from pathlib import Path

import pytest

from nccltool.triage import causes
from nccltool.triage.causes.base import SECTIONS
from tests.incidents import INCIDENTS

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "runbooks" / "causes"
CONTRACT = {
    "none", "net-interface", "net-unreachable", "rdzv-store", "ib-config", "ib-link", "ib-memlock",
    "gdr-missing", "shm-size", "fd-limit", "p2p-acs-iommu", "gpu-fault", "nvlink-fabric", "imex-mnnvl",
    "version-mismatch", "duplicate-gpu", "out-of-memory", "plugin", "collnet-sharp", "topology",
    "env-invalid", "collective-mismatch", "straggler-timeout", "peer-exited", "slow-path", "nccl-bug",
    "data-corruption", "app-error", "preempted", "other",
}  # fmt: skip
"""The labels that scripts of others depend on."""

every = pytest.mark.parametrize("label", causes.LABELS)


def test_the_labels_are_those_of_the_contract() -> None:
    assert set(causes.LABELS) == CONTRACT


@every
def test_a_page_has_all_sections_in_order(label: str) -> None:
    page = causes.page(label) or ""
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert tuple(headings) == SECTIONS
    assert all(causes.section(label, name) for name in SECTIONS)
    assert "nccltool bundle" in causes.section(label, "Escalate")
    assert causes.summary(label).endswith(".")


@every
def test_a_page_verifies_with_a_command_and_says_how_far_a_fix_reaches(label: str) -> None:
    commands = [line for line in causes.section(label, "Verify").splitlines() if line.startswith("    ")]
    assert commands
    assert "expected" in causes.section(label, "Verify") or "works with it" in causes.section(label, "Verify")
    assert "Blast radius" in " ".join(causes.section(label, "Fix").split())


@every
def test_a_cause_says_what_would_settle_it(label: str) -> None:
    assert len(causes.find(label).DECIDES) > 20


@every
def test_a_cause_explains_only_causes_that_there_are(label: str) -> None:
    assert getattr(causes.find(label), "EXPLAINS", frozenset()) <= CONTRACT


@every
def test_a_log_of_ours_shows_it(label: str) -> None:
    assert [one.name for one in INCIDENTS if one.root_cause == label]


def test_there_is_no_page_of_an_unknown_cause() -> None:
    assert causes.page("gremlins") is None
    assert causes.page("base") is None


def test_causes_stand_alone() -> None:
    folder = Path(causes.__file__).parent
    for file in folder.glob("*.py"):
        names = {node.module for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)}
        siblings = {name for name in names if name and name.startswith("nccltool.triage.causes")}
        assert siblings <= {"nccltool.triage.causes.base"}, file.name


@every
def test_the_runbook_page_is_the_docstring(label: str) -> None:
    file = PAGES / f"{label}.md"
    page = causes.page(label) or ""
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(page)
    assert file.read_text() == page


def test_every_runbook_page_has_its_cause() -> None:
    assert {file.stem for file in PAGES.glob("*.md")} == CONTRACT
