"""A diagnosis as JUnit XML, for what shows the results of tests: a rule is a test case."""

from collections.abc import Iterator

from nccltool.core import junit
from nccltool.core.findings import Finding, check_status
from nccltool.core.text import named
from nccltool.doctor.diagnosis import Diagnosis, RuleOutcome, RulePage

_SKIPPED = ("unknown", "skip")


def render(diagnosis: Diagnosis) -> str:
    """One suite, with a newline at its end. An error is a failure, what could not be judged is skipped."""
    outcomes = (*diagnosis.outcomes, *_beside_rules(diagnosis))
    kinds = ["failure" if outcome.status == "fail" else "" for outcome in outcomes]
    rules = {rule.code: rule for rule in diagnosis.rules}
    cases: list[str] = []
    for outcome in outcomes:
        found = [finding for finding in diagnosis.findings if finding.code == outcome.code]
        cases += _case(outcome, rules.get(outcome.code), found)
    attributes = {
        "name": "doctor",
        "hostname": named(diagnosis.info.hosts, 8),
        **junit.counts(kinds),
        "skipped": str(sum(outcome.status in _SKIPPED for outcome in outcomes)),
        "timestamp": diagnosis.info.started,
    }
    return junit.document({"name": "nccltool doctor"} | junit.counts(kinds), junit.suite(attributes, cases))


def _beside_rules(diagnosis: Diagnosis) -> Iterator[RuleOutcome]:
    """Findings that no rule made: a host that does not answer, what differs between hosts."""
    ruled = {outcome.code for outcome in diagnosis.outcomes}
    for code in dict.fromkeys(finding.code for finding in diagnosis.findings if finding.code not in ruled):
        severities = {finding.severity for finding in diagnosis.findings if finding.code == code}
        yield RuleOutcome(code=code, status=check_status(severities), reason="")


def _case(outcome: RuleOutcome, rule: RulePage | None, found: list[Finding]) -> Iterator[str]:
    family, title = (rule.family, f"{rule.code} {rule.name}") if rule else ("hosts", outcome.code)
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
