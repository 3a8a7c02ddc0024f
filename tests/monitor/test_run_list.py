"""The list of past runs, in every format."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.look import Look
from nccltool.monitor import run_list
from nccltool.monitor.run_list import Entry
from nccltool.probe import views
from tests.core.test_run_directory import saved
from tests.samples import good_run

ENTRIES = (
    Entry(
        id="20250101T000000Z-0001",
        path="/runs/20250101T000000Z-0001",
        started="2025-01-01T00:00:00Z",
        status="pass",
        exit_code=0,
        command=("nccltool", "probe", "--nodes", "2"),
        measurements=80,
    ),
    Entry(
        id="20250102T000000Z-0002",
        path="/runs/with, a comma/20250102T000000Z-0002",
        started=None,
        status="incomplete",
        exit_code=None,
        command=(),
        measurements=None,
    ),
)

formats = pytest.mark.parametrize("form", run_list.FORMATS)


def test_what_a_list_can_be_shown_as() -> None:
    assert set(run_list.FORMATS) <= set(views.FORMATS)


@formats
def test_golden(form: str, golden: Callable[[str, str], None]) -> None:
    golden(f"runs.{form}", run_list.render(ENTRIES, form))


@formats
def test_golden_of_none(form: str, golden: Callable[[str, str], None]) -> None:
    golden(f"runs-none.{form}", run_list.render((), form))


def test_a_narrow_screen_leaves_out_when_it_started() -> None:
    narrow = run_list.render(ENTRIES, "table", Look(width=80, height=24)).splitlines()
    assert narrow[0].split() == ["run", "status", "rows", "command"]
    assert narrow[2].split() == ["20250101T000000Z-0001", "pass", "80", "nccltool", "probe", "--nodes", "2"]
    for look in (Look(width=200), Look(width=80, verbose=True)):
        assert "2025-01-01T00:00:00Z" in run_list.render(ENTRIES, "table", look)


def test_json() -> None:
    shown = json.loads(run_list.render(ENTRIES, "json"))
    assert (shown["schema"], shown["kind"]) == (1, "runs")
    assert [run["exit_code"] for run in shown["runs"]] == [0, None]


def test_csv() -> None:
    shown = list(csv.DictReader(io.StringIO(run_list.render(ENTRIES, "csv")), strict=True))
    assert [run["path"] for run in shown] == [entry.path for entry in ENTRIES]
    assert [run["measurements"] for run in shown] == ["80", ""]
    assert [run["in_progress"] for run in shown] == ["false", "false"]


def test_entries(tmp_path: Path) -> None:
    saved(tmp_path, "20250101T000000Z-0001")
    saved(tmp_path, "20250103T000000Z-0003", document='{"schema": 1')
    saved(tmp_path, "20250102T000000Z-0002", document=None)
    saved(tmp_path, "20250104T000000Z-0004", document="failing")
    (tmp_path / "a file").touch()
    (tmp_path / "a folder").mkdir()
    nothing: dict[str, Any] = {"exit_code": None, "command": (), "measurements": None}
    command = ("nccltool", "probe", "--nodes", "2")
    known: dict[str, Any] = {"id": good_run().info.id, "started": "2025-01-02T03:04:05Z", "command": command}
    paths = [str(tmp_path / f"2025010{day}T000000Z-000{day}") for day in range(1, 5)]
    assert list(run_list.entries(tmp_path)) == [
        Entry(**known, path=paths[0], status="pass", exit_code=0, measurements=4),
        Entry(
            **nothing,
            id="20250102T000000Z-0002",
            path=paths[1],
            started="2025-01-02T00:00:00Z",
            status="incomplete",
        ),
        Entry(
            **nothing,
            id="20250103T000000Z-0003",
            path=paths[2],
            started="2025-01-03T00:00:00Z",
            status="unknown",
        ),
        Entry(**known, path=paths[3], status="incomplete", exit_code=3, measurements=1),
    ]


def test_no_runs_yet(tmp_path: Path) -> None:
    assert list(run_list.entries(tmp_path / "none")) == []


def test_runs_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as error:
        list(run_list.entries(tmp_path / "file"))
    assert error.value.message == f"{tmp_path / 'file'} cannot be read: Not a directory"
