"""A preflight in the Common Test Report Format (CTRF): a check on a host is a test.

What could not be judged is `other`, what was left out `skipped`; `rawStatus` has our own word. The format wants a
duration of each test, and ours is that of the whole: it says 0.
"""

import json
from datetime import datetime
from typing import Any

from nccltool.core.text import escaped
from nccltool.preflight.result import CheckOutcome, Preflight
from nccltool.preflight.views import base

_STATUS = {"pass": "passed", "warn": "passed", "fail": "failed", "unknown": "other", "skip": "skipped"}


def render(preflight: Preflight) -> str:
    info = preflight.info
    document = {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "timestamp": info.started,
        "generatedBy": f"nccltool {info.nccltool}",
        "results": {
            "tool": {"name": "nccltool preflight", "version": info.nccltool},
            "summary": _summary(preflight),
            "tests": [_test(one) for one in preflight.outcomes],
            "environment": {
                "reportName": f"suite {escaped(preflight.suite)}",
                "healthy": preflight.verdict.status in ("pass", "warn"),
                "extra": _extra(preflight),
            },
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _summary(preflight: Preflight) -> dict[str, int]:
    statuses = [_STATUS[one.status] for one in preflight.outcomes]
    start = round(datetime.fromisoformat(preflight.info.started).timestamp() * 1000)
    return {
        "tests": len(statuses),
        **{word: statuses.count(word) for word in ("passed", "failed", "skipped", "pending", "other")},
        "suites": len({one.stage for one in preflight.outcomes}),
        "start": start,
        "stop": start + round(preflight.duration_s * 1000),
    }


def _test(one: CheckOutcome) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": escaped(f"{one.code} [{one.host}]" if one.host else one.code),
        "status": _STATUS[one.status],
        "duration": 0,
        "rawStatus": one.status,
        "suite": ["preflight", one.stage],
    }
    if one.reason:
        test["message"] = escaped(one.reason)
    lines = list(base.lines(one))
    if lines:
        test["trace"] = "\n".join(lines)
    if one.host:
        test["extra"] = {"host": escaped(one.host)}
    return test


def _extra(preflight: Preflight) -> dict[str, Any]:
    return {
        "run": preflight.info.id,
        "status": preflight.verdict.status,
        "exit_code": preflight.verdict.exit_code,
        "hosts": {escaped(one.host): one.status for one in preflight.hosts},
        "exclude": [escaped(one.host) for one in preflight.hosts if one.exclude],
    }
