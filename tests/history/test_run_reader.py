"""What the history keeps of the document of a run."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, Subject
from nccltool.core.verdicts import Verdict
from nccltool.history import run_reader
from nccltool.history.records import ALL_HOSTS, RunRecord
from nccltool.probe.document import to_json
from nccltool.probe.result import Run
from tests.samples import finding, good_run, info, measurement

NOW = datetime.fromisoformat("2026-11-24T00:00:00Z").timestamp()


def _read(tmp_path: Path, run: Run) -> RunRecord:
    file = tmp_path / "run.json"
    file.write_text(to_json(run))
    return run_reader.read(file, NOW)


def _failed(*findings: Finding, **circumstances: Any) -> Run:
    verdict = Verdict(status="fail", exit_code=3)
    return Run(info=info(**circumstances), verdict=verdict, measurements=(), findings=findings)


def test_a_run_of_one_host(tmp_path: Path) -> None:
    found = _read(tmp_path, replace(good_run(), measurements=(measurement(), measurement(wrong=3, bytes=8))))
    assert (found.id, found.kind, found.status) == ("20250102T030405Z-beef", "probe", "pass")
    assert (found.versions.torch, found.versions.backend) == ("2.13.0+cpu", "gloo 2.13.0+cpu")
    assert [(one.host, one.status) for one in found.visits] == [("alpha", "pass")]
    (value,) = found.values
    assert (value.host, value.series.name, value.series.of) == ("alpha", "all_reduce 1 MiB", "all_reduce")
    assert value.series.detail == "float32 in-place stream, 4 ranks on 2 emulated nodes, gloo"
    assert value.value == 2**20 / 0.002 * 1.5


def test_values_of_several_hosts_are_nobodys(tmp_path: Path) -> None:
    run = replace(good_run(), info=info(hosts=("alpha", "beta"), emulated=False), measurements=(measurement(),))
    assert [one.host for one in _read(tmp_path, run).values] == [ALL_HOSTS]


HOSTS: Any = {"hosts": ("alpha", "beta"), "emulated": False, "ranks_per_node": 2}


@pytest.mark.parametrize(
    ("accused", "visits", "trouble"),
    [
        (Subject(kind="host", name="beta"), {"alpha": "unknown", "beta": "fail"}, ("beta", True)),
        (Subject(kind="rank", name="3"), {"alpha": "unknown", "beta": "fail"}, ("beta", True)),
        (Subject(kind="rank", name="9"), {"alpha": "undetermined", "beta": "undetermined"}, ("", False)),
        (Subject(kind="variable", name="X"), {"alpha": "undetermined", "beta": "undetermined"}, ("", False)),
    ],
)
def test_who_is_accused(
    accused: Subject, visits: dict[str, str], trouble: tuple[str, bool], tmp_path: Path
) -> None:
    found = _read(tmp_path, _failed(finding(subject=accused), **HOSTS))
    assert {one.host: one.status for one in found.visits} == visits
    assert [(one.host, one.proven) for one in found.troubles] == [trouble]
    assert found.troubles[0].check == "rank-died"


def test_the_outcomes_of_a_preflight(tmp_path: Path) -> None:
    document = json.loads(to_json(good_run())) | {
        "kind": "preflight",
        "status": "fail",
        "hosts": [{"host": "a", "status": "fail", "driver": "550.54"}, {"host": "b", "status": "pass"}],
        "outcomes": [
            {
                "code": "within/busbw",
                "rung": "within",
                "status": "pass",
                "host": "a",
                "measured": 5e9,
                "unit": "B/s",
            },
            {
                "code": "within/data",
                "rung": "within",
                "status": "fail",
                "host": "a",
                "measured": 3,
                "shown": "alone",
            },
            {"code": "across", "rung": "across", "status": "fail"},
            {"code": "across/data", "rung": "across", "status": "warn", "reason": "x" * 9999},
        ],
        "measurements": [],
    }
    (tmp_path / "run.json").write_text(json.dumps(document))
    found = run_reader.read(tmp_path, NOW)
    assert [(one.host, one.status, one.driver) for one in found.visits] == [
        ("a", "fail", "550.54"),
        ("b", "pass", ""),
    ]
    assert sorted((one.host, one.check, one.status, one.proven) for one in found.troubles) == [
        ("", "across/data", "warn", False),
        ("a", "within/data", "fail", True),
    ]
    assert max(len(one.reason) for one in found.troubles) < 300
    assert [(one.host, one.series.name, one.series.unit, one.value) for one in found.values] == [
        ("a", "within/busbw", "B/s", 5e9)
    ]


@pytest.mark.parametrize(
    ("started", "message"),
    [
        ("yesterday", "started is not a time: 'yesterday'"),
        ("2031-01-01T00:00:00Z", "began in the future"),
        ("1970-01-01T00:00:00Z", "began in the past, before nccltool"),
    ],
)
def test_a_clock_that_was_wrong(started: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        _read(tmp_path, replace(good_run(), info=info(started=started)))


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is not a run"), ('{"kind": "doctor"}', "run of nccltool doctor")]
)
def test_what_is_no_run(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInput, match=message):
        run_reader.read(tmp_path, NOW)
