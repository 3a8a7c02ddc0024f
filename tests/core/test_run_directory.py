"""The run directory."""

import json
import os
import re
import stat
from pathlib import Path

import msgspec
import pytest

from nccltool.core import run_directory
from nccltool.core.errors import BadInput, RunDirError
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe.document import to_json
from nccltool.probe.job import ProbeJob
from nccltool.train import document as train_document
from tests.samples import failing_run, good_run, job


def saved(base: Path, run_id: str, document: str | None = "good") -> Path:
    """A run's folder; `document` None = it did not end in order, else good, failing, or a damaged text."""
    folder = run_dir_of(base, job(run_id=run_id))
    if document in ("good", "failing"):
        folder.finish(to_json(good_run() if document == "good" else failing_run()))
    elif document is not None:
        (folder.path / "run.json").write_text(document)
    folder.close()
    return folder.path


def test_everything_is_there_as_it_comes(tmp_path: Path) -> None:
    folder = run_dir_of(tmp_path / "made" / "with parents", job())
    assert msgspec.json.decode((folder.path / "job.json").read_bytes(), type=ProbeJob) == job()
    folder.event(b'{"event":"bye","rank":0}\n')
    folder.log("a line\n")
    assert (folder.path / "events.jsonl").read_text() == '{"event":"bye","rank":0}\n'
    folder.event(b'{"event":"bye","rank":1}\n')
    folder.log("half a surrogate pair: \udce9\n")
    folder.sync()
    assert (folder.path / "events.jsonl").read_text().count("\n") == 2
    assert (folder.path / "log.txt").read_text() == "a line\nhalf a surrogate pair: ?\n"
    folder.finish(to_json(good_run()))
    folder.close()
    assert sorted(file.name for file in folder.path.iterdir()) == [
        "events.jsonl",
        "job.json",
        "log.txt",
        "run.json",
    ]
    assert json.loads((folder.path / "run.json").read_text())["schema"] == 1
    assert train_document.load(folder.path) == train_document.load(folder.path / "run.json") == good_run()


def test_a_folder_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError) as error:
        run_dir_of(tmp_path / "file" / "runs", job())
    path = tmp_path / "file" / "runs" / job().run_id
    assert error.value.message == f"the run directory {path} cannot be written: Not a directory"
    assert error.value.remedy == "use a writable folder with free space: --run-dir DIR or NCCLTOOL_RUN_DIR"


def test_the_same_run_twice(tmp_path: Path) -> None:
    saved(tmp_path, "one")
    with pytest.raises(RunDirError) as error:
        run_dir_of(tmp_path, job(run_id="one"))
    assert error.value.message == f"the run directory {tmp_path / 'one'} cannot be written: File exists"


def test_a_folder_that_is_gone_when_the_result_comes(tmp_path: Path) -> None:
    folder = run_dir_of(tmp_path, job())
    for file in folder.path.iterdir():
        file.unlink()
    folder.path.rmdir()
    with pytest.raises(RunDirError) as error:
        folder.finish(to_json(good_run()))
    folder.close()
    assert error.value.message == f"the run directory {folder.path} cannot be written: No such file or directory"


@pytest.mark.parametrize(
    ("state", "base"),
    [("/state", "/state/nccltool/runs"), ("", "/home/me/.local/state/nccltool/runs")],
)
def test_where_runs_go_when_nothing_is_said(state: str, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("HOME", "/home/me")
    assert run_directory.base_folder() == Path(base)


def test_ids_sort_by_time_and_differ() -> None:
    ids = {run_directory.new_id() for _ in range(8)}
    assert len(ids) > 1
    assert all(re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", run_id) for run_id in ids)


def test_a_run_is_found_by_id_by_its_beginning_and_by_path(tmp_path: Path) -> None:
    first = saved(tmp_path, "20250101T000000Z-0001")
    second = saved(tmp_path, "20250102T000000Z-0002")
    assert run_directory.find(tmp_path, "20250101T000000Z-0001") == first
    assert run_directory.find(tmp_path, "20250102") == second
    assert run_directory.find(tmp_path / "elsewhere", str(first)) == first
    assert run_directory.find(tmp_path, str(second / "run.json")) == second / "run.json"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("2025", "'2025' matches 2 runs"),
        ("2024", "unknown run '2024'"),
        ("x" * 5000, "unknown run '" + "x" * 80 + "... (5000 characters)'"),
    ],
)
def test_a_name_that_is_not_one_run(name: str, problem: str, tmp_path: Path) -> None:
    saved(tmp_path, "20250101T000000Z-0001")
    saved(tmp_path, "20250102T000000Z-0002")
    with pytest.raises(BadInput) as error:
        run_directory.find(tmp_path, name)
    assert error.value.message == f"{problem} under {tmp_path}"
    assert error.value.remedy == "see nccltool runs"


def test_loading_a_run_that_did_not_end_in_order(tmp_path: Path) -> None:
    folder = saved(tmp_path, "one", document=None)
    with pytest.raises(BadInput) as error:
        train_document.load(folder)
    assert error.value.message == f"{folder / 'run.json'} cannot be read: No such file or directory"
    assert error.value.remedy == "the run did not end normally; see its events.jsonl and log.txt"


def test_only_its_owner_may_look_into_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = run_dir_of(tmp_path / "runs", job())
        folder.finish("{}")
        folder.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.path.iterdir()} == {0o600}
