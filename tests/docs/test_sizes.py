"""Pages are short enough to be read: how many words one page, and all of them, may have."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, README, ROOT

MOST_OF_A_PAGE = 2_000
MOST_OF_THE_CHANGELOG = 2_400
"""Nobody reads it from the first to the last line."""
MOST_OF_ALL = (
    45_000
    + 2_500
    + 3_500
    + 3_000
    + 1_400
    + 2_000
    + 2_500
    + 550
    + 300
    + 250
    + 800
    + 200
    + 750
    + 750
    + 400
    + 1_900
    + 250
    + 150
    + 600
    + 150
    + 250
    + 350
    + 120
    + 150
    + 50
    + 40
    + 40
    + 254
)
"""Of the commands that there were at first; the page that a security team signs, with what came beside it; what
other programs build on: the API, schemas, plug-ins, more formats, schedulers and clusters; pairs of
nodes and who is slow; reports and the history of hosts; plans; running
jobs; how often attach is right; the cases in which localization fails; whom
triage suspects, and its unseen rounds; watching a job; rounds of another collector; trainings like a
plan, and steps on slow links; jobs on several hosts, in Slurm, and in containers; training with files; traces of
profilers, their keys and findings, uneven exchanges and experts; what trainings take besides time, and their
overlap; compression, batch norms, and AdamW; how often traces are right; training loops;
groups; how ranks meet; NCCL Inspector; what steps lose time to; elastic jobs;
experts within pairs of ranks;
how sure exposed communication is, and clean runs; adapters;
what tutorials say of plans."""
LINES_OF_THE_README = 120

GENERATED = (
    "docs/rules/",
    "docs/runbooks/alerts/",
    "docs/runbooks/causes/",
    "docs/files.md",
    "docs/monitoring/metrics.md",
)
"""Pages made of the code; their tests compare them."""
_HELP = re.compile(r"^```console\n\$ nccltool (?:[\w-]+ )?--help\n.*?^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"^<!--.*?-->$", re.MULTILINE | re.DOTALL)
WRITTEN = [page for page in PAGES if not str(page.relative_to(ROOT)).startswith(GENERATED)]


def words(text: str) -> int:
    """Lines between the cells of tables are none, and notes for tests are not read."""
    return sum(any(letter.isalnum() for letter in word) for word in _NOTE.sub("", text).split())


def of_page(text: str) -> int:
    """All but the help of the command, which is generated."""
    return words(_HELP.sub("", text))


def of_prose(text: str) -> int:
    """Without blocks: what they show is printed by the commands and compared."""
    return words(_BLOCK.sub("", text))


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_is_too_long(page: Path) -> None:
    most = MOST_OF_THE_CHANGELOG if page.name == "CHANGELOG.md" else MOST_OF_A_PAGE
    assert of_page(page.read_text()) <= most


def test_all_pages_together_are_not_too_long() -> None:
    assert sum(of_prose(page.read_text()) for page in WRITTEN) < MOST_OF_ALL


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < LINES_OF_THE_README


@pytest.mark.parametrize(
    ("text", "page", "prose"),
    [
        ("| a | 2 |\n|---|---|\n| 50 % | it's |\n", 4, 4),
        ("one\n<!-- example: slow: it takes long -->\n```console\n$ nccltool runs\nprinted\n```\ntwo\n", 6, 2),
        ("one\n```console\n$ nccltool runs --help\nUsage: nccltool runs\n```\ntwo\n```sh\nls\n```\n", 4, 2),
    ],
)
def test_what_counts(text: str, page: int, prose: int) -> None:
    assert (of_page(text), of_prose(text)) == (page, prose)
