"""The store of baselines: what goes in comes out, whoever else writes, and whoever is killed."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.compare import baselines, judge
from nccltool.compare.baselines import Mode, Store
from nccltool.compare.result import Circumstances
from nccltool.compare.views import baseline as baseline_view
from nccltool.core.errors import BadInput
from nccltool.core.verdicts import Verdict
from nccltool.probe.result import Run
from tests.compare.samples import run
from tests.samples import failing_run, good_run, info

RUNS = [run(f"r{number}", [1.0 + number, 2.0]) for number in range(3)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "folder/baselines.sqlite")


def test_what_goes_in_comes_out(store: Store) -> None:
    saved = store.save("night", "after the repair", RUNS, "new")
    assert store.load("night") == saved
    assert saved.runs == tuple(RUNS)
    assert store.all() == (saved,)
    store.remove("night")
    assert store.all() == ()


@pytest.mark.parametrize(
    ("mode", "second", "expected"),
    [("add", RUNS[1:], ["r0", "r1", "r2"]), ("replace", RUNS[1:2], ["r1"]), ("add", RUNS[:1] * 2, ["r0", "r1"])],
)
def test_saving_again(store: Store, mode: Mode, second: list[object], expected: list[str]) -> None:
    first = store.save("night", "note", RUNS[:2], "new")
    with pytest.raises(BadInput, match="baseline 'night' already exists"):
        store.save("night", "", RUNS[:1], "new")
    again = store.save("night", "", second, mode)  # type: ignore[arg-type]
    assert [each.id for each in again.runs] == expected
    assert (again.created, again.note) == (first.created, "note")


def test_runs_of_two_kinds_are_refused(store: Store) -> None:
    other = replace(RUNS[1], circumstances=Circumstances(transport="socket", nodes=2, ranks=16))
    with pytest.raises(BadInput, match=r"not comparable: transport \(ib; socket\)"):
        store.save("night", "", [RUNS[0], other], "new")
    assert store.all() == ()


@pytest.mark.parametrize("name", ["", " x", "a,b", "a\nb", "x" * 101])
def test_names_that_cannot_be(store: Store, name: str) -> None:
    with pytest.raises(BadInput, match="cannot name a baseline"):
        store.save(name, "", RUNS, "new")


def test_what_is_not_there(store: Store) -> None:
    with pytest.raises(BadInput, match="no baselines: "):
        store.load("night")
    store.save("night", "", RUNS, "new")
    with pytest.raises(BadInput, match="unknown baseline 'day'"):
        store.load("day")
    with pytest.raises(BadInput, match="unknown baseline 'day'"):
        store.remove("day")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (b"not a database, but long enough to have a header of its own" * 20, "not a database"),
        ("CREATE TABLE other (a)", "is not a baseline store"),
        (f"PRAGMA application_id = {baselines.APPLICATION}; PRAGMA user_version = 7", "has schema 7"),
    ],
)
def test_files_of_others(tmp_path: Path, made: str | bytes, message: str) -> None:
    file = tmp_path / "x.sqlite"
    if isinstance(made, bytes):
        file.write_bytes(made)
    else:
        with contextlib.closing(sqlite3.connect(file)) as db:
            db.executescript(made)
    with pytest.raises(BadInput, match=message):
        Store(file).save("night", "", RUNS, "new")


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be used"):
        Store(tmp_path / "file/baselines.sqlite").save("night", "", RUNS, "new")


def test_through_json_and_back(store: Store, tmp_path: Path) -> None:
    saved = store.save("night", "", RUNS, "new")
    text = baseline_view.render(saved, judge.summary(saved), "json").encode()
    other = Store(tmp_path / "other.sqlite")
    other.put(baselines.from_json(text, "x.json"), "new")
    assert other.load("night") == saved
    with pytest.raises(BadInput, match="already"):
        other.put(saved, "new")


@pytest.mark.parametrize("text", [b"", b"{}", b'{"schema": 1, "kind": "probe"}', b'{"schema": 1', b"\xff"])
def test_json_that_is_no_baseline(text: bytes) -> None:
    with pytest.raises(BadInput, match=r"x\.json is not a baseline of nccltool"):
        baselines.from_json(text, "x.json")


def test_rows_of_groups_are_refused(store: Store) -> None:
    row = RUNS[0].rows[0]
    split = replace(RUNS[0], rows=(replace(row, key=replace(row.key, of_group="node 1 (4 ranks)")),))
    with pytest.raises(BadInput, match="was split into groups"):
        store.save("night", "", [split], "new")


def test_an_import_with_a_time_of_zero_is_refused(store: Store) -> None:
    bad = replace(RUNS[0], rows=(replace(RUNS[0].rows[0], mean_s=0.0),))
    with pytest.raises(BadInput, match="of 0 or less"):
        store.save("night", "", [bad], "new")


def test_a_store_whose_numbers_are_no_numbers(store: Store, tmp_path: Path) -> None:
    store.save("night", "", RUNS, "new")
    (file,) = tmp_path.rglob("*.sqlite")
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE measurement SET bytes = 'many'")
    with pytest.raises(BadInput, match="cannot be used: malformed"):
        store.load("night")


@pytest.mark.parametrize("size", [-1, 2**63])
def test_an_import_with_a_size_that_cannot_be_is_refused(store: Store, size: int) -> None:
    row = RUNS[0].rows[0]
    bad = replace(RUNS[0], rows=(replace(row, key=replace(row.key, bytes=size)),))
    with pytest.raises(BadInput, match="an impossible size or count"):
        store.save("night", "", [bad], "new")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (failing_run(), "did not pass: incomplete"),
        (
            Run(
                info=info(),
                verdict=Verdict(status="pass", exit_code=0),
                measurements=(),
                findings=(),
                kind="train",
            ),
            "train",
        ),
    ],
)
def test_runs_that_are_no_example(made: Run, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        baselines.usable(made)
    assert baselines.usable(good_run()).id == good_run().info.id


_WRITER = """
import sys
from pathlib import Path
from nccltool.compare.baselines import Store
from tests.compare.samples import run
store, name = Store(Path(sys.argv[1])), sys.argv[2]
for number in range(10**6):
    runs = [run(f"{name}-{number}-{k}", [1.0 + number + k / 4] * 20) for k in range(3)]
    store.save(f"{name}-{number}", "", runs, "new")
    print(number, flush=True)
"""


def _writer(file: Path, name: str, said: Path) -> "subprocess.Popen[bytes]":
    root = Path(__file__).parents[2]
    with said.open("ab") as out:
        argv = [sys.executable, "-c", _WRITER, str(file), name]
        return subprocess.Popen(argv, stdout=out, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})


@pytest.mark.slow
def test_eight_writers_that_are_killed_at_random(tmp_path: Path) -> None:
    """What a writer said was saved is there, whole; nothing is half there; the file is sound."""
    file, source = tmp_path / "baselines.sqlite", random.Random(8)
    names = [f"w{number}" for number in range(24)]
    alive = [(name, _writer(file, name, tmp_path / name)) for name in names[:8]]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not all((tmp_path / name).read_text() for name in names[:8]):
        time.sleep(0.2)  # on a busy machine Python takes seconds to start
    for name in (*names[8:], *[None] * 8):
        time.sleep(source.uniform(0.2, 1.0))
        _, victim = alive.pop(source.randrange(len(alive)))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        if name:
            alive.append((name, _writer(file, name, tmp_path / name)))
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    found = {baseline.name: baseline for baseline in Store(file).all()}
    assert all([len(each.rows) for each in baseline.runs] == [20, 20, 20] for baseline in found.values())
    said = {f"{name}-{line}" for name in names for line in (tmp_path / name).read_text().split("\n")[:-1]}
    assert said
    assert said <= found.keys()
    assert len(found.keys() - said) <= len(names)  # saved, and killed before it was said
    print(f"{len(found)} baselines, {len(said)} said")


@pytest.mark.parametrize("name", ["a" * 300, "x/" * 3000])
def test_a_name_that_is_too_long_for_a_file(name: str) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        Store(Path(name)).load("nightly")
    assert Store(Path(name)).all() == ()
