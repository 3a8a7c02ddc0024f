"""Removing runs: which, and what is never removed."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nccltool.core import removal
from nccltool.core.errors import BadInput
from nccltool.core.run_directory import RunDir


def _id(days: float, number: int = 1) -> str:
    return f"{datetime.now(UTC) - timedelta(days=days):%Y%m%dT%H%M%SZ}-{number:08x}"


def _run(base: Path, name: str) -> Path:
    RunDir(base, name, b"{}").close()
    return base / name


def test_a_run_is_removed_and_links_in_it_are_not_followed(tmp_path: Path) -> None:
    folder = _run(tmp_path / "runs", "20260101T000000Z-1")
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("mine")
    (folder / "link").symlink_to(other)
    assert removal.remove(folder) == ""
    assert list((tmp_path / "runs").iterdir()) == []
    assert (other / "file").read_text() == "mine"


def test_a_run_in_progress_is_left(tmp_path: Path) -> None:
    run = RunDir(tmp_path, "20260101T000000Z-1", b"{}")
    assert removal.why_not(run.path) == removal.remove(run.path) == "in progress"
    assert (run.path / "job.json").exists()
    run.close()
    assert removal.remove(run.path) == ""


def test_a_folder_behind_a_link_is_left(tmp_path: Path) -> None:
    real = _run(tmp_path / "elsewhere", "20260101T000000Z-1")
    base = tmp_path / "runs"
    base.mkdir()
    (base / real.name).symlink_to(real)
    assert removal.remove(base / real.name) == "a symbolic link: not followed"
    assert (real / "job.json").exists()


def test_job_json_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    folder = _run(tmp_path, "20260101T000000Z-1")
    (folder / "job.json").unlink()
    (folder / "job.json").symlink_to(tmp_path / "x")
    assert removal.remove(folder).startswith("cannot tell whether it is in progress")
    assert folder.exists()


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path / "runs"
    first, second = _run(base, "20260101T000000Z-1"), _run(base, "20260102T000000Z-2")
    monkeypatch.chdir(tmp_path)
    assert removal.named(base, ["20260101", first.name, str(second)]) == (first, second)
    outside = _run(tmp_path / "other", "20260103T000000Z-3")
    for name in (str(outside), "other", str(base), str(second / "job.json"), "."):
        with pytest.raises(BadInput, match="is not in the run directory"):
            removal.named(base, [name])
    with pytest.raises(BadInput, match="unknown run"):
        removal.named(base, ["nosuch"])


@pytest.mark.parametrize(
    ("older_than", "keep", "left"),
    [
        ("30d", None, [20, 10, 1]),
        ("15d", None, [10, 1]),
        (None, 2, [10, 1]),
        (None, 0, []),
        (None, 9, [40, 31, 20, 10, 1]),
        ("15d", 4, [31, 20, 10, 1]),
        ("12h", 1, [1]),
        ("2w", None, [10, 1]),
    ],
)
def test_pruning(older_than: str | None, keep: int | None, left: list[int], tmp_path: Path) -> None:
    folders = {days: _run(tmp_path, _id(days)) for days in (40, 31, 20, 10, 1)}
    chosen = removal.prunable(tmp_path, older_than, keep)
    assert [days for days, folder in folders.items() if folder not in chosen] == left


def test_a_run_with_another_name_is_as_old_as_its_folder(tmp_path: Path) -> None:
    folder = _run(tmp_path, "mine")
    assert removal.prunable(tmp_path, "1h", None) == ()
    import os

    os.utime(folder, (time.time() - 7200,) * 2)
    assert removal.prunable(tmp_path, "1h", None) == (folder,)


def test_a_time_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--older-than '30' is not a time"):
        removal.prunable(tmp_path, "30", None)
