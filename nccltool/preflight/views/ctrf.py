"""A preflight in the Common Test Report Format (CTRF): a check on a host is a test.

What could not be judged is `other`, what was left out `skipped`; `rawStatus` has our own word. Stages are
timed, and single checks are not: their duration is unknown.
"""

from typing import Any

from nccltool.core import ctrf
from nccltool.core.text import escaped
from nccltool.preflight.result import CheckOutcome, Preflight
from nccltool.preflight.views import base

_STATUS = {"pass": "passed", "warn": "passed", "fail": "failed", "unknown": "other", "skip": "skipped"}


def render(preflight: Preflight) -> str:
    info = preflight.info
    tests = [_test(one) for one in preflight.outcomes]
    stages = len({one.stage for one in preflight.outcomes})
    environment = {
        "reportName": f"suite {escaped(preflight.suite)}",
        "healthy": preflight.verdict.status in ("pass", "warn"),
        "extra": _extra(preflight),
    }
    counted = ctrf.summary(info, preflight.duration_s, tests, stages)
    return ctrf.document("preflight", info, counted, tests, environment)


def _test(one: CheckOutcome) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": escaped(f"{one.code} [{one.host}]" if one.host else one.code),
        "status": _STATUS[one.status],
        **ctrf.duration(None),
        "rawStatus": one.status,
        "suite": ["preflight", one.stage],
    }
    if one.reason:
        test["message"] = escaped(one.reason)
    lines = list(base.lines(one))
    if lines:
        test["trace"] = "\n".join(lines)
    if one.host:
        test["extra"] |= {"host": escaped(one.host)}
    return test


def _extra(preflight: Preflight) -> dict[str, Any]:
    return {
        "run": preflight.info.id,
        "status": preflight.verdict.status,
        "exit_code": preflight.verdict.exit_code,
        "stage_seconds": {one.stage: one.duration_s for one in preflight.stage_times},
        "hosts": {escaped(one.host): one.status for one in preflight.hosts},
        "exclude": [escaped(one.host) for one in preflight.hosts if one.exclude],
    }
