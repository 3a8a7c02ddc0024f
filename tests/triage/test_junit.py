"""An incident as JUnit XML: valid, and green where the exit code is 0."""

from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.incidents import LOGS
from tests.support import junit


@pytest.mark.parametrize("name", sorted(LOGS))
def test_the_one_case(name: str, tmp_path: Path, nccltool: Nccltool) -> None:
    log = tmp_path / "job.log"
    log.write_text(LOGS[name])
    said, told = nccltool("triage", str(log), "--format", "junit"), nccltool("triage", str(log))
    assert (said.code, said.err) == (told.code, "")
    kind = {0: "system-out", 1: "failure"}.get(said.code, "error")
    assert junit.valid(said.out) == {"triage verdict": [kind]}


def test_a_failure_has_the_lines_and_the_remedy(tmp_path: Path, nccltool: Nccltool) -> None:
    log = tmp_path / "job.log"
    log.write_text(LOGS["shm-64m-pod"])
    text = nccltool("triage", str(log), "--format", "junit").out
    assert 'message="triage: shm-size (confidence 0.98), suspect file /dev/shm; 4 lines read"' in text
    assert "-&gt; Docker: add --shm-size=16g" in text


def test_a_log_that_says_nothing_is_an_error(tmp_path: Path, nccltool: Nccltool) -> None:
    (tmp_path / "job.log").touch()
    said = nccltool("triage", str(tmp_path / "job.log"), "--format", "junit")
    assert (said.code, junit.valid(said.out)) == (4, {"triage verdict": ["error"]})
