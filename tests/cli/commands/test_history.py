"""nccltool history, import and prune; and runs that end."""

import json
from pathlib import Path

import pytest

from nccltool.history.database import History, default_file
from tests.conftest import Nccltool
from tests.history.samples import SLOW, night
from tests.history.test_keeping import _run


def _three(tmp_path: Path) -> None:
    History(default_file()).add(
        [night(number, {"n1": "pass", "n17": "fail" if number else "pass"}) for number in range(3)]
    )


def test_questions(nccltool: Nccltool, tmp_path: Path) -> None:
    _three(tmp_path)
    said = nccltool("history", "--since", "2026-09-01")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("2 hosts, 3 runs, 2026-09-01 to 2026-09-03: 1 repeated failure")
    for word in ("n17", SLOW):
        document = json.loads(nccltool("history", word, "--since", "2026-09-01", "--format", "json").out)
        assert [(one["times"], one["runs"], one["alone"]) for one in document["offences"]] == [(2, 2, 2)]


def test_saved_runs_come_in_and_old_ones_go(nccltool: Nccltool, tmp_path: Path) -> None:
    _run(tmp_path / "runs", 1)
    file = str(tmp_path / "mine.sqlite")
    said = nccltool("history", "import", str(tmp_path / "runs"), "--history", file)
    assert (said.code, said.out) == (0, f"1 run added to {file}; 0 known before\n")
    assert nccltool("history", "import", "--run-dir", str(tmp_path / "runs"), "--history", file).out.startswith(
        "0 "
    )
    assert nccltool("history", "--history", file, "--since", "2025-01-01").out.startswith("1 host, 1 run")
    pruned = nccltool("history", "prune", "--older-than", "30d", "--dry-run", "--history", file)
    assert pruned.out == f"1 run would be removed from {file}\n"
    assert nccltool("history", "prune", "--older-than", "30d", "--history", file).out.startswith("1 run removed")
    assert History(Path(file)).ids() == frozenset()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("history",), "does not exist"),
        (("history", "--history", "none"), "--history none names no history"),
        (("history", "--since", "soon"), "--since 'soon' is not a time"),
        (("history", "import", "nowhere"), "cannot be read"),
        (("history", "import"), "runs cannot be read: No such file or directory"),
        (("history", "prune", "--older-than", "30d"), "does not exist"),
        (("history", "prune", "--older-than", "old"), "--older-than 'old' is not a time"),
        (("history", "prune"), "--older-than"),
    ],
)
def test_wrong_words(words: tuple[str, ...], message: str, nccltool: Nccltool) -> None:
    said = nccltool(*words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_an_unknown_name_has_a_suggestion(nccltool: Nccltool, tmp_path: Path) -> None:
    _three(tmp_path)
    said = nccltool("history", "n18")
    assert said.code == 2
    assert "unknown host, operation, or check 'n18' in the history" in said.err
    assert "did you mean n1" in said.err
