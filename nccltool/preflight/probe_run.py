"""JUDGE a probe that a stage ran: its data, its numbers against expectations, and against a baseline. Pure."""

from collections.abc import Iterator, Sequence

from nccltool.compare.result import Against
from nccltool.core.units import format_gb_per_s
from nccltool.preflight import expected_numbers, stage_run
from nccltool.preflight.check import PAGE, Check
from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.suite import ProbePart
from nccltool.probe.finding_kinds import WRONG_DATA
from nccltool.probe.result import Run

DATA = Check(stage="", name="data", kind="data")
BASELINE = Check(stage="", name="baseline", kind="baseline", page=f"{PAGE}#baseline")


def judged(ran: StageRun, part: ProbePart) -> Iterator[CheckOutcome]:
    """Whether a probe completed, its data were right, and its numbers are as expected."""
    run = ran.run
    if run is None:
        yield stage_run.not_begun(ran)
        return
    ended = bool(stage_run.endings(run))
    yield from stage_run.completion(ran, run)
    yield from _data(ran, run, ended, checked=part.checks > 0)
    yield from stage_run.others(ran, run.findings, WRONG_DATA)
    for wanted in part.expect:
        yield from expected_numbers.numbers(ran, wanted, ended or run.verdict.exit_code == 130)


def _data(ran: StageRun, run: Run, ended: bool, checked: bool) -> Iterator[CheckOutcome]:
    wrong = [finding for finding in run.findings if finding.kind is WRONG_DATA]
    rows = run.measurements
    total = float(sum(row.wrong or 0 for row in rows))
    for finding in wrong:
        yield ran.of_finding(DATA, "fail", finding, measured=total, unit="elements")
    if wrong:
        return
    if ended:
        yield ran.outcome(DATA, "skip", reason="the run did not complete")
    elif not checked:
        yield ran.outcome(DATA, "skip", reason="the suite does not check data: checks = 0")
    elif not rows or any(row.wrong is None for row in rows):
        yield ran.outcome(DATA, "unknown", reason="not checked")
    else:
        yield ran.outcome(DATA, "pass", measured=0.0, unit="elements", expected="no wrong element")


def held_against(ran: StageRun, baseline: Sequence[Against]) -> Iterator[CheckOutcome]:
    """What earlier runs say of each number of this one."""
    for one in baseline:
        change = "" if one.change is None else f"{one.change:+.1%} against {one.source}"
        interval = "" if one.low is None or one.high is None else f", between {one.low:+.1%} and {one.high:+.1%}"
        known = one.expected_busbw_bytes_per_s
        yield ran.outcome(
            BASELINE.about(one.key.op, one.key.bytes),
            one.status,
            measured=one.measured_busbw_bytes_per_s,
            unit="B/s",
            expected="" if known is None else f"{format_gb_per_s(known)} GB/s",
            source=one.source,
            reason=one.reason or change + interval,
        )
