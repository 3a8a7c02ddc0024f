"""What is read from the file."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.history import ask
from nccltool.history.queries import by_host, reading
from nccltool.history.records import RunVersions
from tests.history.samples import BUSBW, DAY, FIRST, SLOW, kept, night

HALF = int((FIRST + DAY / 2) * 1000)


def test_since_when_and_whose(tmp_path: Path) -> None:
    file = kept(
        tmp_path,
        night(0, {"n1": "fail", "n2": "fail"}, busbw={"n1": 1e9}),
        night(1, {"n1": "fail", "n2": "pass"}, busbw={"n1": 2e9, "n2": 3e9}, driver="560.35"),
    )
    with reading(file) as reader:
        assert [run.id for run in reader.runs(HALF).values()] == ["run-0001"]
        assert {host: len(visits) for host, visits in reader.visits(0).items()} == {"n1": 2, "n2": 2}
        assert set(reader.visits(0, ["n2"])) == {"n2"}
        assert [(one.host, one.hosts) for one in reader.troubles(0)] == [("n1", 2), ("n2", 2), ("n1", 1)]
        assert [one.hosts for one in reader.troubles(0, host="n2")] == [2]
        assert len(reader.troubles(HALF, check=SLOW)) == 1
        assert reader.troubles(0, host="nobody") == []
        assert reader.first_seen("n1", SLOW) == int(FIRST * 1000)
        assert [seen.driver for seen in reader.versions_until("n1", 2**62)] == ["560.35", "550.54"]
        assert [seen.run.torch for seen in reader.versions_until("", 2**62)] == ["2.9.0", "2.9.0"]
        assert [one.value for one in reader.values(HALF, reader.lines())["n1", BUSBW]] == [2e9]
        assert reader.newest() == int((FIRST + DAY) * 1000)
        assert (reader.checks, reader.operations) == ({SLOW, BUSBW.name}, set())


def test_versions_are_those_of_the_run(tmp_path: Path) -> None:
    versions = RunVersions(nccltool="a", torch="b", backend="c", gpu="d", nics="e")
    with reading(kept(tmp_path, replace(night(0, {"n1": "pass"}), versions=versions))) as reader:
        assert [run.versions for run in reader.runs(0).values()] == [versions]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"), reading(tmp_path / "none"):
        pass
    with pytest.raises(BadInput, match="does not exist"), reading(tmp_path / ("x" * 5000)):
        pass


def test_by_host_and_check(tmp_path: Path) -> None:
    with reading(kept(tmp_path, night(0, {"n1": "fail"}), night(1, {"n1": "fail"}))) as reader:
        assert {key: len(some) for key, some in by_host(reader.troubles(0)).items()} == {("n1", SLOW): 2}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE visit SET driver = 999",
        "UPDATE visit SET status = 999",
        "UPDATE run SET versions = 999",
        "UPDATE run SET at = at + 9000000000000000",
        "DELETE FROM run WHERE id = 'run-0001'",
        "DELETE FROM host",
        "UPDATE trouble SET check_ = 999",
        "UPDATE measured SET run = 'x' || run",
    ],
)
def test_a_damaged_file_is_told_in_a_sentence(tmp_path: Path, damage: str) -> None:
    """Never a traceback; where what is asked does not need the damaged rows, an answer."""
    nights = [night(number, {"n1": "fail", "n2": "pass"}, busbw={"n1": 5e10}) for number in range(12)]
    file = kept(tmp_path, *nights)
    with sqlite3.connect(file) as db:
        db.execute(damage)
    for word in ("", "n1", "across/late-rank", "within/all_reduce-busbw-64MiB"):
        try:
            ask.ask(file, word, 0)
        except BadInput as error:
            assert str(file) in error.message or "unknown" in error.message
