"""A diagnosis as JUnit XML, for what shows the results of tests: a rule is a test case."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from nccltool.core.findings import Finding, check_status
from nccltool.core.text import escaped
from nccltool.doctor.diagnosis import Diagnosis, RuleOutcome


def render(diagnosis: Diagnosis) -> str:
    """One suite, with a newline at its end. An error is a failure, what could not be judged is skipped."""
    outcomes = (*diagnosis.outcomes, *_beside_rules(diagnosis))
    statuses = [outcome.status for outcome in outcomes]
    counts = f'tests="{len(statuses)}" failures="{statuses.count("fail")}" errors="0"'
    # of the root the schema of Jenkins allows no number of skipped ones
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="nccltool doctor" {counts}>']
    hosts = _attribute(", ".join(diagnosis.info.hosts))
    lines.append(
        f'<testsuite name="doctor" hostname={hosts} {counts} skipped="{statuses.count("unknown")}" '
        f'timestamp="{diagnosis.info.started}">'
    )
    names = {check.code: check.name for check in diagnosis.checks}
    for outcome in outcomes:
        found = [finding for finding in diagnosis.findings if finding.code == outcome.code]
        lines += _case(outcome, names.get(outcome.code), found)
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _beside_rules(diagnosis: Diagnosis) -> Iterator[RuleOutcome]:
    """Findings that no rule made: a host that does not answer, what differs between hosts."""
    ruled = {outcome.code for outcome in diagnosis.outcomes}
    for code in dict.fromkeys(finding.code for finding in diagnosis.findings if finding.code not in ruled):
        severities = {finding.severity for finding in diagnosis.findings if finding.code == code}
        yield RuleOutcome(code=code, status=check_status(severities), reason="")


def _case(outcome: RuleOutcome, name: str | None, found: list[Finding]) -> Iterator[str]:
    family = outcome.code[:-3] if name else "hosts"
    title = f"{outcome.code} {name}" if name else outcome.code
    head = f'<testcase classname="doctor.{family}" name={_attribute(title)}'
    if not found and outcome.status != "unknown":
        yield f"{head}/>"
        return
    yield f"{head}>"
    if outcome.status == "unknown":
        yield f"<skipped message={_attribute(outcome.reason)}/>"
    errors = [finding for finding in found if finding.is_error]
    if errors:
        yield f'<failure type="error" message={_attribute(errors[0].message)}>{_text(errors)}</failure>'
    others = [finding for finding in found if not finding.is_error]
    if others:
        yield f"<system-out>{_text(others)}</system-out>"
    yield "</testcase>"


def _attribute(text: str) -> str:
    return quoteattr(escaped(text))


def _text(findings: list[Finding]) -> str:
    lines = []
    for one in findings:
        evidence = [line for text in one.evidence for line in text.split("\n")]
        lines += [f"{one.severity}: {one.message}", *(f"    {line}" for line in evidence), f"    -> {one.remedy}"]
    return escape("\n".join(escaped(line) for line in lines))
