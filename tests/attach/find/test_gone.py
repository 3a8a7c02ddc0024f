"""Ranks that are missing on a host."""

import json
from pathlib import Path

import pytest

from nccltool.attach.find import gone, ranks
from nccltool.attach.find.processes import ProcessRow
from nccltool.attach.seen.ranks import RankGone
from nccltool.hosts.sources.base import Tree
from tests.attach.find.rows import elastic, row

_AGENT = row(10, name="pt_elastic", command="torchrun train.py")
_FILE = "TORCHELASTIC_ERROR_FILE=/tmp/run/attempt_0/0/error.json"


def _gone(root: Path, *rows: tuple[int, ProcessRow]) -> list[RankGone]:
    found = ranks.found(dict(rows), "n1")
    return list(gone.gone(dict(rows), found.ranks, found.agents, "n1", Tree(str(root))))


def test_nobody_is_gone(tmp_path: Path) -> None:
    assert _gone(tmp_path, _AGENT, row(11, 10, env=elastic(0)), row(12, 10, env=elastic(1))) == []


def test_a_zombie_is_the_rank_that_is_missing(tmp_path: Path) -> None:
    assert _gone(tmp_path, _AGENT, row(11, 10, env=elastic(0)), row(12, 10, state="Z")) == [
        RankGone(host="n1", rank=1, pid=12, how="zombie")
    ]


def test_which_zombie_is_which_rank_is_not_guessed(tmp_path: Path) -> None:
    rows = (_AGENT, row(11, 10, env=elastic(0, 3)), row(12, 10, state="Z"), row(13, 10, state="Z"))
    assert _gone(tmp_path, *rows) == [
        RankGone(host="n1", rank=1, how="ended"),
        RankGone(host="n1", rank=2, how="ended"),
        RankGone(host="n1", pid=12, how="zombie"),
        RankGone(host="n1", pid=13, how="zombie"),
    ]


@pytest.mark.parametrize(
    ("document", "text", "at_s"),
    [
        (
            {"message": {"message": "ValueError: no", "extraInfo": {"timestamp": "1700000000"}}},
            "ValueError: no",
            1.7e9,
        ),
        ({"message": "SIGKILL"}, "SIGKILL", None),
    ],
)
def test_the_error_file_of_a_rank_is_beside_that_of_its_neighbor(
    tmp_path: Path, document: object, text: str, at_s: float | None
) -> None:
    folder = tmp_path / "proc/11/root/tmp/run/attempt_0/1"
    folder.mkdir(parents=True)
    (folder / "error.json").write_text(json.dumps(document))
    (tmp_path / "proc/11").joinpath("stat").write_text("")
    found = _gone(tmp_path, _AGENT, row(11, 10, env=elastic(0, more=_FILE)))
    assert found == [RankGone(host="n1", rank=1, how="error file", text=text, at_s=at_s)]


@pytest.mark.parametrize("text", ["", "[]", "nonsense", '{"message": {"extraInfo": 3}}'])
def test_a_damaged_error_file_is_none(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "proc/11/root/tmp/run/attempt_0/1"
    folder.mkdir(parents=True)
    (folder / "error.json").write_text(text)
    (one,) = _gone(tmp_path, _AGENT, row(11, 10, env=elastic(0, more=_FILE)))
    assert (one.rank, one.at_s) == (1, None)
