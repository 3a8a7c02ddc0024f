"""The one word over everything that was found, and the exit code: the table of docs/exit-codes.md."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # not to load it for the names of exit styles
    from nccltool.core.findings import Finding

Status = Literal["pass", "warn", "fail", "incomplete", "unknown"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The one word and the exit code of a run."""

    status: Status
    exit_code: int


def verdict(
    *,
    interrupted: bool = False,
    incomplete: bool = False,
    failed: bool = False,
    can_tell: bool = True,
    warned: bool = False,
) -> Verdict:
    """The first that applies."""
    if interrupted:
        return Verdict(status="incomplete", exit_code=130)
    if incomplete:
        return Verdict(status="incomplete", exit_code=3)
    if failed:
        return Verdict(status="fail", exit_code=1)
    if not can_tell:
        return Verdict(status="unknown", exit_code=4)
    return Verdict(status="warn" if warned else "pass", exit_code=0)


def of_findings(findings: "Collection[Finding]", *, interrupted: bool = False, can_tell: bool = True) -> Verdict:
    """What findings say together. `can_tell`: whether there is anything to judge."""
    effects = {finding.effect for finding in findings}
    return verdict(
        interrupted=interrupted,
        incomplete="incomplete" in effects,
        failed="answer" in effects,
        can_tell=can_tell and "unknown" not in effects,
        warned=any(finding.severity == "warning" for finding in findings),
    )


_WORST_FIRST: Sequence[Status] = ("fail", "incomplete", "unknown", "warn", "pass")


def badness(verdict: Verdict) -> int:
    """What to sort by, so that the worst comes first."""
    return _WORST_FIRST.index(verdict.status)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on several runs together."""
    return min(verdicts, key=badness)


def warned(verdict: Verdict) -> Verdict:
    """With a warning that came afterwards."""
    return replace(verdict, status="warn") if verdict.status == "pass" else verdict


def of_own_ranks(findings: "Collection[Finding]", *, interrupted: bool) -> Verdict:
    """Of a command whose rank 0 is elsewhere: it only says whether its own ranks were done."""
    return verdict(interrupted=interrupted, incomplete=any(finding.is_error for finding in findings))


EXIT_STYLES = ("default", "nagios")
PLUGIN_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
"""Of the exit codes 0 to 3 of monitoring plugins."""
_NOT_JUDGED = (2, 4, 5, 130)
"""Of ours: bad usage, nothing could be judged, a verdict that could not be written, interrupted."""


def of_plugin(status: str, code: int) -> int:
    """The code of a plugin for a status and our code, which is 0 also for warnings."""
    if code == 0:
        return 1 if status == "warn" else 0
    return 3 if code in _NOT_JUDGED else 2
