"""Incidents as SARIF: the lines of logs that prove a cause are its locations."""

from pathlib import Path

import pytest

from nccltool.triage import jobs
from nccltool.triage.table import TriageView, shown
from tests.support import reports

LOG = """\
n1:100:100 [0] NCCL INFO NCCL version 2.27.3+cuda12.9
n1:100:160 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 1000
n1:100:160 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-abc to 33030532 bytes
n1:100:160 [0] misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-abc
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "rank0.log"
    file.write_text(LOG)
    return file


def test_the_lines_that_prove_it(log: Path) -> None:
    report = jobs.report((str(log),), ("nccltool", "triage"))
    (result,) = reports.sarif(shown(report, TriageView(form="sarif", summary=False, output=None)))
    assert result["ruleId"] == report.worst.root_cause == "shm-size"
    places = [one["physicalLocation"] for one in result["locations"]]
    assert {one["artifactLocation"]["uri"] for one in places} == {f"file://{log}"}
    lines = LOG.splitlines()
    assert places
    for place in places:
        assert lines[place["region"]["startLine"] - 1].endswith(place["region"]["snippet"]["text"])


def test_a_job_is_a_test(log: Path) -> None:
    report = jobs.report((str(log),), ("nccltool", "triage"))
    view = TriageView(form="ctrf", summary=False, output=None)
    assert reports.ctrf(shown(report, view)) == {"verdict": "failed"}


def test_the_plugin_line(log: Path) -> None:
    report = jobs.report((str(log),), ("nccltool", "triage"))
    line = shown(report, TriageView(form="nagios", summary=False, output=None))
    assert line.startswith("NCCLTOOL CRITICAL - ")
    assert line.endswith(" | jobs=1 lines=4\n")
