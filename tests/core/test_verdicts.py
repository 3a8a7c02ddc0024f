"""Status and exit code, as docs/exit-codes.md has them."""

from collections.abc import Sequence

import pytest

from nccltool.core.findings import Finding
from nccltool.core.verdicts import Verdict, of_findings, of_own_ranks
from tests.samples import finding
from tests.support.finding_kinds import every_kind

ERROR = finding(code="rank-died")
WARNING = finding(code="clock-skew", severity="warning")
INFO = finding(code="left-out", severity="info")
LOW = finding(code="busbw-low")
WRONG = finding(code="wrong-data")
CANNOT_TELL = finding(code="busbw-unknown", severity="warning")
MILD = finding(code="world-of-one", severity="warning")


@pytest.mark.parametrize(
    ("can_tell", "findings", "interrupted", "verdict"),
    [
        (True, (), False, Verdict(status="pass", exit_code=0)),
        (True, (INFO,), False, Verdict(status="pass", exit_code=0)),
        (True, (INFO, WARNING), False, Verdict(status="warn", exit_code=0)),
        (True, (MILD,), False, Verdict(status="warn", exit_code=0)),
        (True, (WARNING, WRONG), False, Verdict(status="fail", exit_code=1)),
        (True, (LOW,), False, Verdict(status="fail", exit_code=1)),
        (True, (finding(code="NETIF-003"),), False, Verdict(status="fail", exit_code=1)),
        (True, (WRONG, ERROR), False, Verdict(status="incomplete", exit_code=3)),
        (False, (ERROR,), False, Verdict(status="incomplete", exit_code=3)),
        (False, (), False, Verdict(status="unknown", exit_code=4)),
        (False, (INFO, WARNING), False, Verdict(status="unknown", exit_code=4)),
        (True, (CANNOT_TELL,), False, Verdict(status="unknown", exit_code=4)),
        (True, (CANNOT_TELL, LOW), False, Verdict(status="fail", exit_code=1)),
        (True, (), True, Verdict(status="incomplete", exit_code=130)),
        (True, (WRONG, ERROR), True, Verdict(status="incomplete", exit_code=130)),
        (False, (), True, Verdict(status="incomplete", exit_code=130)),
    ],
)
def test_verdict(can_tell: bool, findings: Sequence[Finding], interrupted: bool, verdict: Verdict) -> None:
    assert of_findings(findings, interrupted=interrupted, can_tell=can_tell) == verdict


ENDS = [kind.code for kind in every_kind() if kind.effect == "incomplete"]


@pytest.mark.parametrize("code", ENDS)
def test_a_run_that_did_not_complete_is_never_a_pass(code: str) -> None:
    assert of_findings((finding(code=code),)) == Verdict(status="incomplete", exit_code=3)


@pytest.mark.parametrize(
    ("findings", "interrupted", "verdict"),
    [
        ((), False, Verdict(status="pass", exit_code=0)),
        ((WARNING,), False, Verdict(status="pass", exit_code=0)),
        ((ERROR,), False, Verdict(status="incomplete", exit_code=3)),
        ((WRONG,), False, Verdict(status="incomplete", exit_code=3)),
        ((), True, Verdict(status="incomplete", exit_code=130)),
    ],
)
def test_verdict_of_a_command_whose_rank_0_is_elsewhere(
    findings: Sequence[Finding], interrupted: bool, verdict: Verdict
) -> None:
    assert of_own_ranks(findings, interrupted=interrupted) == verdict
