"""CTRF of suites: valid, with durations that were measured or are said to be unknown."""

import json

from nccltool.core import ctrf
from nccltool.core.junit import JunitCase, JunitSuite
from nccltool.core.verdicts import Verdict
from tests import samples
from tests.support import reports

FAIL = Verdict(status="fail", exit_code=1)


def suite(*cases: JunitCase, duration_s: float | None = 2.5) -> JunitSuite:
    info = samples.info(duration_s=duration_s)
    return JunitSuite(command="probe", info=info, verdict=FAIL, headline="too slow", cases=cases)


def test_each_kind_has_its_status() -> None:
    cases = (
        JunitCase(name="a", duration_s=0.2),
        JunitCase(name="b", kind="failure", type="slow", message="m\x1b", text="t\nu"),
        JunitCase(name="c", kind="error"),
        JunitCase(name="d", kind="skipped", message="one rank"),
    )
    text = ctrf.report("probe", [suite(*cases)])
    assert reports.ctrf(text) == {
        "verdict": "failed",
        "a": "passed",
        "b": "failed",
        "c": "other",
        "d": "skipped",
    }
    assert "\x1b" not in text


def test_durations_are_measured_or_unknown() -> None:
    results = json.loads(ctrf.report("probe", [suite(JunitCase(name="a", duration_s=0.2), JunitCase(name="b"))]))
    verdict, a, b = results["results"]["tests"]
    assert (verdict["duration"], a["duration"], b["duration"]) == (2500, 200, 0)
    assert ("extra" in a, b["extra"]) == (False, {"duration": "unknown"})
    summary = results["results"]["summary"]
    assert summary["stop"] - summary["start"] == 2500
