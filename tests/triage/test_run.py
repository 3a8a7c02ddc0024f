"""From logs to an incident."""

from pathlib import Path

import pytest

from nccltool.triage import run as triage_run
from tests.incidents import LOGS
from tests.triage.test_failed_run import OOM

SHM = LOGS["shm-64m-pod"]


def test_of_a_log_that_is_too_large_the_beginning_and_the_end_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triage_run, "HEAD_BYTES", 300)
    monkeypatch.setattr(triage_run, "TAIL_BYTES", 700)
    (tmp_path / "log.txt").write_text("step\n" * 100 + OOM + "step\n" * 1000 + SHM)
    incident = triage_run.of_run(tmp_path, (), {})
    assert incident is not None
    assert incident.root_cause == "shm-size"
    assert {line.file for line in incident.evidence} == {"log.txt (its end)"}
    assert incident.lines_read < 200


def test_when_the_time_is_over_what_was_read_is_judged(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(SHM)
    assert triage_run.of_run(tmp_path, (), {}, limit_s=0.0) is None
