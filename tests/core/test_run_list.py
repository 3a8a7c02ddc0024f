"""The list of past runs, in every format."""

import csv
import io
import json
from collections.abc import Callable

import pytest

from nccltool.core import run_list
from nccltool.core.run_directory import Entry
from nccltool.probe import views

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


def test_json() -> None:
    shown = json.loads(run_list.render(ENTRIES, "json"))
    assert (shown["schema"], shown["kind"]) == (1, "runs")
    assert [run["exit_code"] for run in shown["runs"]] == [0, None]


def test_csv() -> None:
    shown = list(csv.DictReader(io.StringIO(run_list.render(ENTRIES, "csv")), strict=True))
    assert [run["path"] for run in shown] == [entry.path for entry in ENTRIES]
    assert [run["measurements"] for run in shown] == ["80", ""]
