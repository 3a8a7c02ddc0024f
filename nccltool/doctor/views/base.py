"""What formats share: the headline; for results of tests, a rule is a test case, and so is what no rule found."""

from collections import Counter
from collections.abc import Iterator, Mapping

from nccltool.core.findings import Severity, check_status
from nccltool.core.host_lists import briefly
from nccltool.core.text import counted
from nccltool.doctor.diagnosis import Diagnosis, RuleOutcome
from nccltool.doctor.judge import NOTHING

TITLES: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "hint"}


def outcomes(diagnosis: Diagnosis) -> tuple[RuleOutcome, ...]:
    """Those of rules, then one for each code that no rule has."""
    return (*diagnosis.outcomes, *_beside_rules(diagnosis))


def titles(diagnosis: Diagnosis) -> dict[str, tuple[str, str]]:
    """The family and the title of each rule, by its code."""
    return {rule.code: (rule.family, f"{rule.code} {rule.name}") for rule in diagnosis.rules}


def _beside_rules(diagnosis: Diagnosis) -> Iterator[RuleOutcome]:
    """Findings that no rule made: a host that does not answer, what differs between hosts."""
    ruled = {outcome.code for outcome in diagnosis.outcomes}
    for code in dict.fromkeys(finding.code for finding in diagnosis.findings if finding.code not in ruled):
        severities = {finding.severity for finding in diagnosis.findings if finding.code == code}
        yield RuleOutcome(code=code, status=check_status(severities), reason="")


def headline(diagnosis: Diagnosis) -> str:
    """What follows the verdict in the first line."""
    hosts = diagnosis.source or briefly(diagnosis.info.hosts)
    counts = Counter(finding.severity for finding in diagnosis.findings)
    found = ", ".join(counted(counts[severity], title) for severity, title in TITLES.items() if counts[severity])
    status = Counter(outcome.status for outcome in diagnosis.outcomes)
    if not status["pass"] and not found:
        is_empty = all(outcome.reason == NOTHING for outcome in diagnosis.outcomes)
        return f"doctor on {hosts}: {NOTHING if is_empty else 'no rule could be checked'}"
    checked = sum(count for what, count in status.items() if what not in ("skip", "unknown"))
    passed = f"{status['pass']} of {checked} checked rules passed"
    # rules pass on settings alone: on those of a file, where the captured tree is empty
    passed = "no host: the captured tree is empty" if diagnosis.verdict.status == "unknown" else passed
    return f"doctor on {hosts}: {found or 'nothing found'}; {passed}"
