"""Outcomes and runs of a preflight for tests."""

from dataclasses import replace
from typing import Any

from nccltool.core.findings import Finding, Subject
from nccltool.core.verdicts import Verdict
from nccltool.preflight.probe_run import DATA
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stage_run import COMPLETED, StageRun
from nccltool.preflight.stages.inventory import PRESENT
from nccltool.probe.result import Run
from tests import samples

NAMES = {"alpha": "n1", "beta": "n2"}


def check(code: str) -> Check:
    """The check of a code."""
    stage, _, name = code.partition("/")
    declared = {"completed": COMPLETED, "data": DATA, "present": PRESENT}
    return replace(declared.get(name, Check(stage=stage, name=name)), stage=stage)


def outcome(code: str, status: Any, host: str | None = None, **changes: Any) -> CheckOutcome:
    """One of nothing in particular, changed."""
    return replace(CheckOutcome(check=check(code), host=host, status=status), **changes)


def told(outcomes: Any) -> dict[tuple[str, str | None], tuple[str, str]]:
    """Code and host to status and how sure it is."""
    return {(one.code, one.host): (one.status, one.shown) for one in outcomes}


def ran(run: Run | None, *hosts: str, **changes: Any) -> StageRun:
    return replace(
        StageRun(stage="across", hosts=hosts or ("n1", "n2"), run=run, names=NAMES, repeat="nccltool probe"),
        **changes,
    )


def run(*findings: Finding, **changes: Any) -> Run:
    healthy = Run(
        info=samples.info(emulated=False, hosts=("alpha", "beta")),
        verdict=Verdict(status="pass", exit_code=0),
        measurements=(samples.measurement(),),
        findings=findings,
    )
    return replace(healthy, **changes)


def found(code: str, kind: Any, name: str, severity: Any = "error", message: str = "said") -> Finding:
    return Finding(code=code, severity=severity, subject=Subject(kind=kind, name=name), message=message)
