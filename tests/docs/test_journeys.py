"""Every journey of the runbooks has its parts, is complete, and is found from the page that routes to it."""

import re
from pathlib import Path

import pytest

from nccltool.monitor.alerts import NAMES, SECTIONS
from nccltool.triage import causes
from tests.docs.pages import ROOT, hold

RUNBOOKS = ROOT / "docs/runbooks"
ROUTER = (RUNBOOKS / "README.md").read_text()
JOURNEYS = sorted((RUNBOOKS / "journeys").glob("*.md"))
EXPECTED = {
    *("init-hang", "slow-everywhere", "slow-host", "hang-midway", "wrong-loss"),
    *("new-cluster", "after-upgrade", "no-infiniband", "infiniband", "roce"),
}


def parts(page: Path) -> dict[str, str]:
    title, *sections = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)
    assert title.startswith("# ")
    return {text.partition("\n")[0]: text.partition("\n")[2] for text in sections}


def test_the_journeys_are_there() -> None:
    assert {page.stem for page in JOURNEYS} == EXPECTED


@pytest.mark.parametrize("page", JOURNEYS, ids=lambda page: page.stem)
def test_a_journey_has_its_parts(page: Path) -> None:
    found = parts(page)
    assert tuple(found) == SECTIONS
    assert all(len(text.split()) >= 10 for text in found.values())
    assert "```" in found["Verify"]
    assert found["Verify"].count("xpected") >= 2, "what a command is expected to print stands beside it"
    assert re.findall(r"\]\(\.\./causes/[\w-]+\.md\)", found["Causes"]) or page.stem == "new-cluster"
    assert "Blast radius" in found["Fix"].replace("\n", " ")
    assert "nccltool bundle" in found["Escalate"]


@pytest.mark.parametrize("page", JOURNEYS, ids=lambda page: page.stem)
def test_a_journey_is_found_from_the_router(page: Path) -> None:
    assert f"](journeys/{page.name})" in ROUTER


def test_every_alert_and_every_cause_leads_to_or_is_named_by_a_page() -> None:
    linked = set(re.findall(r"\]\(causes/([\w-]+)\.md\)", ROUTER))
    assert linked == {file.stem for file in (RUNBOOKS / "causes").glob("*.md")} == set(causes.LABELS)
    monitoring = (ROOT / "docs/monitoring/README.md").read_text()
    assert [name for name in NAMES if f"/{name}.md)" not in monitoring] == []


def test_the_list_of_root_causes_has_what_their_pages_say_first() -> None:
    lines = "".join(f"* [{label}](causes/{label}.md): {causes.summary(label)}\n" for label in causes.LABELS)
    hold(RUNBOOKS / "README.md", "## Root causes\n\n", "\n<!-- end of root causes -->\n", lines)
