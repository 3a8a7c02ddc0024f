"""A diagnosis as JUnit XML, for what shows the results of tests: a rule is a test case."""

from collections.abc import Iterator

from nccltool.core import junit
from nccltool.core.findings import Finding
from nccltool.core.text import named
from nccltool.doctor.diagnosis import Diagnosis, RuleOutcome
from nccltool.doctor.views import base

_SKIPPED = ("unknown", "skip")


def render(diagnosis: Diagnosis) -> str:
    """One suite, with a newline at its end. An error is a failure, what could not be judged is skipped."""
    outcomes = base.outcomes(diagnosis)
    kinds = ["failure" if outcome.status == "fail" else "" for outcome in outcomes]
    titles = base.titles(diagnosis)
    cases: list[str] = []
    for outcome in outcomes:
        found = [finding for finding in diagnosis.findings if finding.code == outcome.code]
        cases += _case(outcome, *titles.get(outcome.code, ("hosts", outcome.code)), found)
    attributes = {
        "name": "doctor",
        "hostname": named(diagnosis.info.hosts, 8),
        **junit.counts(kinds),
        "skipped": str(sum(outcome.status in _SKIPPED for outcome in outcomes)),
        "timestamp": diagnosis.info.started,
    }
    return junit.document({"name": "nccltool doctor"} | junit.counts(kinds), junit.suite(attributes, cases))


def _case(outcome: RuleOutcome, family: str, title: str, found: list[Finding]) -> Iterator[str]:
    return junit.case(f"doctor.{family}", title, list(_inside(outcome, found)))


def _inside(outcome: RuleOutcome, found: list[Finding]) -> Iterator[str]:
    if outcome.status in _SKIPPED:
        yield junit.element("skipped", {"message": outcome.reason})
    errors = [finding for finding in found if finding.severity == "error"]
    if errors:
        yield junit.element("failure", {"type": "error", "message": errors[0].message}, junit.finding_text(errors))
    others = [finding for finding in found if finding.severity != "error"]
    if others:
        yield junit.element("system-out", {}, junit.finding_text(others))
