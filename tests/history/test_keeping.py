"""Runs come in at their end, and from folders."""

import shutil
import sqlite3
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from nccltool.core import run_directory
from nccltool.core.errors import BadInput
from nccltool.core.verdicts import Verdict
from nccltool.history import keeping
from nccltool.history.database import History, default_file
from nccltool.probe.document import to_json
from tests.samples import good_run, info

NOW = datetime.fromisoformat("2026-11-24T00:00:00Z").timestamp()


def _run(base: Path, number: int) -> Path:
    folder = base / f"20250102T03040{number}Z-beef"
    run_directory.make(folder)
    (folder / "job.json").write_text("{}")
    circumstances = info(id=folder.name, started=f"2025-01-02T03:04:0{number}Z")
    verdict = Verdict(status="pass", exit_code=0)
    run_directory.keep(folder, to_json(replace(good_run(), info=circumstances, verdict=verdict)))
    return folder


def test_a_run_that_has_ended(tmp_path: Path) -> None:
    run = _run(tmp_path / "runs", 1)
    assert keeping.remember(run, None) == ""
    assert keeping.remember(run, str(tmp_path / "mine.sqlite")) == ""
    assert keeping.remember(run, "none") == ""
    for file in (default_file(), tmp_path / "mine.sqlite"):
        assert History(file).ids() == {run.name}


def test_what_stands_in_the_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _run(tmp_path / "runs", 1)
    (tmp_path / "file").write_text("x" * 5000)
    assert "file is not a database" in keeping.remember(run, str(tmp_path / "file"))
    assert "cannot be used" in keeping.remember(run, str(tmp_path / "file/history"))
    monkeypatch.setattr(keeping, "_WAIT_S", 0.01)
    assert keeping.remember(run, str(tmp_path / "locked")) == ""
    other = sqlite3.connect(tmp_path / "locked", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert "database is locked" in keeping.remember(_run(tmp_path / "runs", 2), str(tmp_path / "locked"))
    other.close()


def test_no_home_folder_is_no_place_for_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    run = _run(tmp_path / "runs", 1)
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert keeping.remember(run, None) == ""
    with pytest.raises(BadInput, match="home folder"):
        keeping.file_to_read(None)
    with pytest.raises(BadInput, match="names no history"):
        keeping.file_to_read("none")


def test_saved_runs(tmp_path: Path) -> None:
    file, runs = tmp_path / "history.sqlite", tmp_path / "runs"
    first, second = _run(runs, 1), _run(runs, 2)
    broken = _run(runs, 3)
    (broken / "run.json").write_text("{")
    (_run(runs, 4) / "run.json").unlink()  # still in progress, or it was killed
    done = keeping.take_in(file, [first], NOW)
    assert (done.added, done.known, done.skipped) == (1, 0, ())
    done = keeping.take_in(file, [runs, second / "run.json"], NOW)
    assert (done.added, done.known, [folder for folder, _ in done.skipped]) == (1, 2, [str(broken)])
    shutil.copytree(first, runs / "another-name")
    done = keeping.take_in(file, [runs], NOW)
    assert (done.added, done.known) == (0, 3)


@pytest.mark.parametrize("name", ["none", "empty", "file", "broken"])
def test_what_is_no_run(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/run.json").write_text("{}")
    with pytest.raises(BadInput):
        keeping.take_in(tmp_path / "history.sqlite", [tmp_path / name], NOW)
    assert not (tmp_path / "history.sqlite").exists()
