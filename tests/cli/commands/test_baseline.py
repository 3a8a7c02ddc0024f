"""nccltool baseline."""

import json
from pathlib import Path

import pytest

from tests.cli.commands.test_compare import kept
from tests.conftest import Nccltool


def test_lists_of_runs_the_latest_and_a_baseline(nccltool: Nccltool, tmp_path: Path) -> None:
    names = [kept(number, 1 + number / 1000) for number in range(1, 6)]
    kept(6, 1.2)
    assert nccltool("compare", ",".join(names), "latest").code == 1
    saved = nccltool("baseline", "save", "night", *names, "--note", "quiet")
    assert (saved.code, saved.out) == (0, "baseline night: 5 runs\n")
    assert nccltool("compare", "baseline:night", "latest").code == 1
    assert "quiet" in nccltool("baseline", "list").out
    assert "  5  " in nccltool("baseline", "show", "night").out
    file = tmp_path / "night.json"
    assert nccltool("baseline", "export", "night", "--output", str(file)).code == 0
    assert nccltool("baseline", "import", str(file), "--as", "day").out == "baseline day: 5 runs\n"
    assert nccltool("baseline", "remove", "night").code == 0
    listed = json.loads(nccltool("baseline", "list", "--format", "json").out)
    assert [baseline["name"] for baseline in listed["baselines"]] == ["day"]


def test_no_baselines_yet(nccltool: Nccltool) -> None:
    assert nccltool("baseline", "list").out == "no baselines yet\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("baseline", "save", "n", "r", "--add", "--replace"), "cannot be combined"),
        (("baseline", "import", "/nosuch"), "/nosuch cannot be read"),
        (("baseline", "show", "x"), "no baselines: "),
    ],
)
def test_bad_words(nccltool: Nccltool, words: tuple[str, ...], message: str) -> None:
    said = nccltool(*words)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
