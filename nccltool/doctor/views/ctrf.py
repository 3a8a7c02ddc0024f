"""A diagnosis in the Common Test Report Format (CTRF): a rule is a test. Single rules are not timed."""

from typing import Any

from nccltool.core import ctrf, junit
from nccltool.core.findings import CheckStatus, Finding
from nccltool.core.text import escaped
from nccltool.doctor.diagnosis import Diagnosis, RuleOutcome
from nccltool.doctor.views import base

_STATUS: dict[CheckStatus, str] = {
    "pass": "passed",
    "warn": "passed",
    "fail": "failed",
    "unknown": "other",
    "skip": "skipped",
}


def render(diagnosis: Diagnosis) -> str:
    titles = base.titles(diagnosis)
    tests = [
        _test(
            one, *titles.get(one.code, ("hosts", one.code)), [f for f in diagnosis.findings if f.code == one.code]
        )
        for one in base.outcomes(diagnosis)
    ]
    environment = {
        "reportName": "nccltool doctor",
        "healthy": diagnosis.verdict.status in ("pass", "warn"),
        "extra": {
            "status": diagnosis.verdict.status,
            "exit_code": diagnosis.verdict.exit_code,
            "hosts": [escaped(host) for host in diagnosis.info.hosts],
        },
    }
    counted = ctrf.summary(diagnosis.info, diagnosis.info.duration_s or 0.0, tests, 1)
    return ctrf.document("doctor", diagnosis.info, counted, tests, environment)


def _test(outcome: RuleOutcome, family: str, title: str, found: list[Finding]) -> dict[str, Any]:
    message = next((one.message for one in found), outcome.reason)
    return {
        "name": escaped(title),
        "status": _STATUS[outcome.status],
        **ctrf.duration(None),
        "rawStatus": outcome.status,
        "suite": ["doctor", family],
        **({"message": escaped(message)} if message else {}),
        **({"trace": junit.finding_text(found)} if found else {}),
    }
