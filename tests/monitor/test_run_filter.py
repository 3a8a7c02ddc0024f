"""Which runs are listed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.verdicts import Status
from nccltool.monitor.run_filter import RunFilter
from nccltool.monitor.run_list import Entry


def _entry(base: Path, run_id: str, kind: str, status: Status) -> Entry:
    folder = base / run_id
    folder.mkdir()
    (folder / "job.json").write_text(json.dumps({"kind": kind}) if kind else "damaged")
    return Entry(id=run_id, path=str(folder), status=status)


NOW = datetime.now(UTC)
IDS = [f"{NOW - timedelta(days=days):%Y%m%dT%H%M%SZ}-{days:08x}" for days in (40, 20, 3, 0)]


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        ({}, [0, 1, 2, 3]),
        ({"limit": 2}, [2, 3]),
        ({"limit": 9}, [0, 1, 2, 3]),
        ({"kind": ("probe",)}, [0, 3]),
        ({"kind": ("probe,train",)}, [0, 1, 3]),
        ({"kind": ("probe",), "limit": 1}, [3]),
        ({"status": ("fail", "incomplete")}, [1, 2]),
        ({"since": "30d"}, [1, 2, 3]),
        ({"since": "12h"}, [3]),
        ({"since": f"{NOW - timedelta(days=5):%Y-%m-%d}"}, [2, 3]),
    ],
)
def test_what_is_listed(asked: dict[str, Any], places: list[int], tmp_path: Path) -> None:
    kinds: list[tuple[str, Status]] = [("probe", "pass"), ("train", "fail"), ("", "incomplete"), ("probe", "pass")]
    entries = [_entry(tmp_path, run_id, *of) for run_id, of in zip(IDS, kinds, strict=True)]
    assert RunFilter(**asked).chosen(entries) == tuple(entries[place] for place in places)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"kind": ("prob",)}, "--kind: unknown kind of runs 'prob'"),
        ({"since": "soon"}, "--since 'soon' is not a time"),
        ({"since": "999999999999w"}, "--since 999999999999w is too long ago"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        RunFilter(**asked).chosen(())


def test_the_remedy_names_each_form_of_a_time() -> None:
    with pytest.raises(BadInput) as error:
        RunFilter(since="2026-13-45").chosen(())
    assert error.value.remedy == "--since 12h, or 30d, or a date such as 2026-01-31"
