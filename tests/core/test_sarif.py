"""SARIF: valid against the schema of OASIS, and lines of files only where the evidence has one."""

import json

import pytest

from nccltool.core import sarif
from nccltool.core.findings import Subject, SubjectKind
from nccltool.core.sarif import FilePlace
from nccltool.core.verdicts import Verdict
from tests import samples
from tests.support import reports

FAIL = Verdict(status="fail", exit_code=1)


@pytest.mark.parametrize(
    ("evidence", "place"),
    [
        (("/etc/nccl.conf:2: NCCL_ALGO=Rign",), FilePlace(file="/etc/nccl.conf", line=2)),
        (("job.env:3: NCCL_ALGO=Rign",), FilePlace(file="job.env", line=3)),
        (("n1:4791: NCCL WARN",), None),  # a host and a process, or a file that nobody named
        (("environment: NCCL_ALGO=Rign",), None),
        ((), None),
    ],
)
def test_the_line_of_a_finding(evidence: tuple[str, ...], place: FilePlace | None) -> None:
    finding = samples.finding(evidence=evidence)
    assert sarif.place_in(finding, ["job.env"]) == ((place,) if place else ())


LINE = "out.txt, line 12, all_reduce at 8 B"


@pytest.mark.parametrize(
    ("source", "kind", "message", "evidence", "place"),
    [
        ("out.txt", "file", f"wrong data, first: {LINE}", (), FilePlace(file="out.txt", line=12)),
        ("out.txt", "operation", "2 rows left out", (LINE,), FilePlace(file="out.txt", line=12)),
        ("out.txt", "file", "rows are missing", (), FilePlace(file="out.txt", line=None)),
        ("out.txt", "host", "it is slow", (), None),
        ("t.txt", "operation", "2 rows left out", (LINE,), None),
        ("job.tgz, out.txt", "file", f"wrong data, first: job.tgz, {LINE}", (), None),
        ("standard input", "file", "standard input, line 3: nan", (), None),
        (None, "file", LINE, (), None),
    ],
)
def test_the_line_of_an_imported_file(
    source: str | None, kind: SubjectKind, message: str, evidence: tuple[str, ...], place: FilePlace | None
) -> None:
    subject = Subject(kind=kind, name=source or "out.txt")
    finding = samples.finding(subject=subject, message=message, evidence=evidence)
    (result,) = sarif.of_findings([finding], source)
    assert result.places == ((place,) if place else ())
    reports.sarif(sarif.report(samples.info(), FAIL, [result]))


def test_the_document_is_valid_and_harmless() -> None:
    finding = samples.finding(evidence=("/a dir/\ud800x\x1b:1: text\x1b",), remedy="")
    places = (FilePlace(file="/a dir/log", line=7, text="t\x1b"), FilePlace(file="b.log", line=1))
    results = [*sarif.of_findings([finding]), sarif.SarifResult(finding=finding, places=places)]
    text = sarif.report(samples.info(hosts=("n\x1b",)), FAIL, results)
    assert "\x1b" not in text
    assert "\\u001b" not in text
    first, second = reports.sarif(text)
    assert "Remedy" not in first["message"]["text"]
    place = second["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "file:///a%20dir/log"},
        "region": {"startLine": 7, "snippet": {"text": "t\\x1b"}},
    }
    assert second["locations"][1]["physicalLocation"]["artifactLocation"] == {"uri": "b.log"}


@pytest.mark.parametrize(("status", "successful"), [("fail", True), ("incomplete", False)])
def test_a_run_that_ended_early_was_no_success(status: str, successful: bool) -> None:
    verdict = Verdict(status=status, exit_code=3)  # type: ignore[arg-type]
    (run,) = json.loads(sarif.report(samples.info(), verdict, ()))["runs"]
    assert run["invocations"][0]["executionSuccessful"] is successful
