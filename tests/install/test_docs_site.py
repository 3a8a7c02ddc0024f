"""scripts/docs makes a site of the pages, with tools that it fetches once; links that lead nowhere stop it."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

pytestmark = [pytest.mark.install]

TAKEN = ("docs", "checks", "scripts")
LIMIT_S = 600.0


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone has of what the site is made of."""
    folder = tmp_path_factory.mktemp("site")
    for name in TAKEN:
        shutil.copytree(ROOT / name, folder / name)
    for name in ("README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def build(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tree / "scripts/docs"], capture_output=True, text=True, timeout=LIMIT_S, check=False)


def test_the_site_is_built_and_every_link_in_it_leads_somewhere(tree: Path) -> None:
    done = build(tree)
    assert done.returncode == 0, done.stdout + done.stderr
    site = tree / "build/site"
    made = {str(page.parent.relative_to(site)) for page in site.rglob("index.html")}
    pages = {page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")}
    wanted = {str(page.parent if page.name == "README" else page) for page in pages}
    assert wanted - made == set()
    assert {".", "checks", "runbooks/alerts/NccltoolWrongData"} <= made, "where runbook_url of the alerts leads"
    broken = []
    for page in site.rglob("index.html"):
        for target in re.findall(r'href="([^"#:]+)["#]', page.read_text()):
            there = page.parent / target
            broken += [f"{page}: {target}"] if not there.exists() and not target.startswith("/") else []
    assert broken == []


@pytest.mark.parametrize(
    ("link", "said"),
    [("[x](nowhere.md)", "page does not exist"), ("[x](findings.md#nowhere)", "anchor does not exist")],
)
def test_a_link_that_leads_nowhere_stops_it(tree: Path, link: str, said: str) -> None:
    page = tree / "docs/concepts.md"
    text = page.read_text()
    page.write_text(f"{text}\n{link}\n")
    try:
        done = build(tree)
    finally:
        page.write_text(text)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert "concepts.md" in done.stdout + done.stderr


def test_the_pins_have_what_the_extra_names() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["docs"]
    pins = re.findall(r"^([\w-]+)==", (ROOT / "scripts/docs-requirements.txt").read_text(), re.MULTILINE)
    assert {re.split(r"[<>=]", name)[0] for name in extra} <= set(pins)
