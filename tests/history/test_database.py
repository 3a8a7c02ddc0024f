"""What is kept in the file, and what becomes of bad ones."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.history.database import KEPT_S, History, default_file
from nccltool.history.queries import reading
from tests.history.samples import BUSBW, DAY, FIRST, SLOW, kept, night


def test_it_lies_beside_the_runs(tmp_path: Path) -> None:
    assert default_file() == tmp_path / "state/nccltool/history.sqlite"


def test_a_run_is_kept_once(tmp_path: Path) -> None:
    history = History(tmp_path / "new/history.sqlite")
    assert history.ids() == frozenset()
    one = night(0, {"n1": "pass", "n2": "fail"}, busbw={"n1": 1e9})
    assert history.add([one, one]) == 1
    assert history.add([replace(one, status="warn"), night(1, {"n1": "warn"})]) == 1
    assert history.ids() == {"run-0000", "run-0001"}
    with reading(history.file) as reader:
        assert reader.hosts == {"n1", "n2"}
        assert [visit.status for visit in reader.visits(0)["n1"]] == ["pass", "warn"]
        assert [(one.host, one.check, one.hosts) for one in reader.troubles(0)] == [("n2", SLOW, 1)]
        assert [one.value for one in reader.values(0, [("n1", BUSBW)])["n1", BUSBW]] == [1e9]


def test_runs_that_began_at_once_are_two(tmp_path: Path) -> None:
    file = kept(tmp_path, night(0, {"n1": "pass"}), night(0, {"n1": "fail"}, id="other"))
    with reading(file) as reader:
        assert [visit.status for visit in reader.visits(0)["n1"]] == ["pass", "fail"]


def _writer(file: str, number: int) -> int:
    return sum(History(Path(file)).add([night(number * 100 + one, {"n1": "pass"})]) for one in range(10))


def test_writers_that_come_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        added = [*pool.map(_writer, [str(file)] * 4, range(4))]
    assert (added, len(History(file).ids())) == ([10] * 4, 40)


def test_pruning_by_age(tmp_path: Path) -> None:
    history = History(
        kept(
            tmp_path,
            night(0, {"n1": "pass", "gone": "fail"}, busbw={"gone": 1e9}),
            night(2, {"n1": "pass"}, busbw={"n1": 1e9}),
        )
    )
    before = FIRST + DAY
    assert (history.prune(before, dry_run=True), len(history.ids())) == (1, 2)
    assert (history.prune(before), history.prune(before)) == (1, 0)
    with reading(history.file) as reader:
        assert (reader.hosts, reader.lines(), reader.troubles(0)) == ({"n1"}, [("n1", BUSBW)], [])


def test_what_is_older_than_five_years_goes_when_a_run_comes(tmp_path: Path) -> None:
    history = History(kept(tmp_path, night(0, {"n1": "pass"}), night(1, {"n1": "pass"})))
    days = int(KEPT_S / DAY)
    history.add([night(days + 20, {"n1": "pass"})])
    assert len(history.ids()) == 3, "not yet"
    history.add([night(days + 40, {"n1": "pass"})])
    assert history.ids() == {f"run-{days + 20}", f"run-{days + 40}"}


def _garbage(file: Path) -> None:
    file.write_bytes(b"no database" * 500)


def _of_others(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE t (x)")


def _newer(file: Path) -> None:
    History(file).add([])
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_garbage, "cannot be used: file is not a database"),
        (_of_others, "is not a history"),
        (_newer, "has schema 99, but this nccltool reads 1"),
        (lambda file: file.mkdir(), "cannot be used: unable to open database file"),
    ],
    ids=["garbage", "of others", "newer", "a folder"],
)
def test_a_file_that_is_no_history(make: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    make(file)
    for use in (lambda: History(file).add([night(0, {})]), lambda: History(file).ids()):
        with pytest.raises(BadInput, match=message):
            use()


def test_a_locked_file_is_said_in_time(tmp_path: Path) -> None:
    file = kept(tmp_path, night(0, {"n1": "pass"}))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(BadInput, match="database is locked"):
        History(file).add([night(1, {"n1": "pass"})], wait_s=0.05)
    other.execute("ROLLBACK")
    other.close()
    assert History(file).add([night(1, {"n1": "pass"})]) == 1


def test_columns_of_others_text(tmp_path: Path) -> None:
    file = kept(tmp_path, night(0, {"n1": "pass"}))
    with sqlite3.connect(file) as db:
        db.execute("UPDATE host SET name = x'00ff'")
    with pytest.raises(BadInput, match="malformed"), reading(file):
        pass
