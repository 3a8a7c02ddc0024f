"""The document of an incident."""

import json
from pathlib import Path

from tests.conftest import Nccltool
from tests.incidents import LOGS

SHM = LOGS["shm-64m-pod"]

KEYS = [
    *(
        "schema",
        "kind",
        "status",
        "exit_code",
        "run",
        "findings",
        "root_cause",
        "confidence",
        "settled_by",
        "unknown",
    ),
    *(
        "offender",
        "suspects",
        "first_failure",
        "candidates",
        "evidence",
        "decides",
        "lines_read",
        "ends_early",
        "unread",
        "picture",
        "jobs",
    ),
]


def test_the_document(tmp_path: Path, nccltool: Nccltool) -> None:
    log = tmp_path / "job.log"
    log.write_text(SHM)
    said = nccltool("triage", "--format", "json", str(log))
    document = json.loads(said.out)
    assert list(document) == KEYS
    assert (document["schema"], document["kind"], document["status"], document["exit_code"]) == (
        1,
        "triage",
        "fail",
        1,
    )
    assert (said.code, document["root_cause"], document["offender"]) == (
        1,
        "shm-size",
        {"kind": "file", "name": "/dev/shm"},
    )
    assert {name: document["first_failure"][name] for name in ("file", "line", "rank", "host", "time")} == {
        "file": str(log),
        "line": 1,
        "rank": None,
        "host": "pod-0",
        "time": "2025-12-01 10:00:02",
    }
    assert [finding["code"] for finding in document["findings"]] == ["shm-size"]
    assert document["candidates"][0]["root_cause"] == "shm-size"
    assert document["run"]["hosts"] == []


def test_a_name_that_is_not_utf_8_has_a_place_in_a_document(tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job\udcff.log"
    file.write_text(SHM)
    document = json.loads(nccltool("triage", "--format", "json", str(file)).out)
    assert document["first_failure"]["file"] == f"{tmp_path}/job\\udcff.log"
