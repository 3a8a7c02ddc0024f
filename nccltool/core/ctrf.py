"""Runs in the Common Test Report Format (CTRF), from the suites that JUnit is made of.

What could not be told is `other`, what was left out `skipped`. The format wants a duration of each test: where
none was measured it says 0, and `extra.duration` says that it is unknown.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from nccltool.core.documents import RunInfo
from nccltool.core.junit import JunitCase, JunitSuite, with_verdict
from nccltool.core.text import escaped, escaped_lines

_STATUS = {"": "passed", "failure": "failed", "error": "other", "skipped": "skipped"}
STATUSES = ("passed", "failed", "skipped", "pending", "other")


def report(command: str, suites: Iterable[JunitSuite]) -> str:
    """The document of runs, with a newline at its end."""
    every = list(suites)
    tests = [test for one in every for test in _tests(one)]
    extra = [
        {"run": one.info.id, "status": one.verdict.status, "exit_code": one.verdict.exit_code} for one in every
    ]
    environment = {
        "reportName": f"nccltool {command}",
        "healthy": all(one.verdict.status in ("pass", "warn") for one in every),
        "extra": {"runs": extra},
    }
    first = every[0].info
    known = [one.info.duration_s for one in every if one.info.duration_s is not None]
    return document(command, first, summary(first, sum(known), tests, len(every)), tests, environment)


def document(
    command: str,
    info: RunInfo,
    counted: dict[str, int],
    tests: Sequence[dict[str, Any]],
    environment: dict[str, Any],
) -> str:
    """The whole of it around tests that are made already."""
    told = {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "timestamp": info.started,
        "generatedBy": f"nccltool {info.nccltool}",
        "results": {
            "tool": {"name": f"nccltool {command}", "version": info.nccltool},
            "summary": counted,
            "tests": tests,
            "environment": environment,
        },
    }
    return json.dumps(told, indent=2) + "\n"


def summary(info: RunInfo, duration_s: float, tests: Sequence[dict[str, Any]], suites: int) -> dict[str, int]:
    """How many tests there are of each status, and from when to when they ran, in ms since 1970."""
    statuses = [test["status"] for test in tests]
    start = round(datetime.fromisoformat(info.started).timestamp() * 1000)
    counts = {word: statuses.count(word) for word in STATUSES}
    return {
        "tests": len(tests),
        **counts,
        "suites": suites,
        "start": start,
        "stop": start + round(duration_s * 1000),
    }


def duration(seconds: float | None) -> dict[str, Any]:
    """The keys of a duration, in ms as the format wants it."""
    if seconds is None:
        return {"duration": 0, "extra": {"duration": "unknown"}}
    return {"duration": round(seconds * 1000)}


def _tests(one: JunitSuite) -> Iterator[dict[str, Any]]:
    for case in with_verdict(one):
        yield _test(case, [one.command, case.group] if case.group else [one.command])


def _test(case: JunitCase, suite: list[str]) -> dict[str, Any]:
    told = {"message": escaped(case.message)} if case.message and case.kind else {}
    lines = {"trace": "\n".join(escaped_lines(case.text))} if case.text else {}
    return {
        "name": escaped(case.name),
        "status": _STATUS[case.kind],
        **duration(case.duration_s),
        **({"rawStatus": escaped(case.type)} if case.type else {}),
        "suite": suite,
        **told,
        **lines,
    }
