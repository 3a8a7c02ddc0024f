"""Measurements as JUnit XML: valid, and green where the exit code is 0."""

import pytest

from nccltool.core.findings import Subject
from nccltool.core.verdicts import Verdict
from nccltool.probe import judge
from nccltool.probe.result import Run
from nccltool.probe.views import joined, renderer
from tests import samples
from tests.support import junit


def _with_threshold(gb_per_s: float, **row: object) -> Run:
    rows = (samples.measurement(**row), samples.measurement(op="broadcast", busbw_bytes_per_s=900e9))
    findings = judge.below(rows, ("all_reduce", "broadcast"), gb_per_s)
    codes = {finding.code for finding in findings}
    code = 1 if "busbw-low" in codes else 4 if codes else 0
    verdict = Verdict(status={0: "pass", 1: "fail", 4: "unknown"}[code], exit_code=code)  # type: ignore[arg-type]
    return Run(info=samples.info(), verdict=verdict, measurements=rows, findings=findings)


NOISY = {"noisy": True, "busbw_bytes_per_s": 1e9, "time_s": samples.stats(0.002, ci95=(0.001, 0.004))}


@pytest.mark.parametrize(
    ("run", "cases"),
    [
        (
            samples.good_run(),
            {
                "probe verdict": ["system-out"],
                "probe.operations all_reduce": [],
                "probe.operations all_gather": ["system-out"],
                "probe.operations ping_pong": [],
            },
        ),
        (
            samples.failing_run(),
            {
                "probe verdict": ["error"],
                "probe.operations all_reduce": ["failure"],
                "probe.findings clock-skew [host beta]": ["system-out"],
                "probe.findings rank-died [rank 1]": ["error"],
            },
        ),
        (samples.empty_run(), {"probe verdict": ["error"]}),
        (
            _with_threshold(100, busbw_bytes_per_s=1e9, time_s=samples.stats(0.002)),
            {
                "probe verdict": ["failure"],
                "probe.operations all_reduce": ["failure"],
                "probe.operations broadcast": [],
            },
        ),
        (
            _with_threshold(1, **NOISY),
            {
                "probe verdict": ["error"],
                "probe.operations all_reduce": ["error"],
                "probe.operations broadcast": [],
            },
        ),
    ],
    ids=["good", "failing", "empty", "below the threshold", "too noisy for the threshold"],
)
def test_the_cases(run: Run, cases: dict[str, list[str]]) -> None:
    text = renderer("junit")(run)
    assert junit.valid(text) == cases
    assert junit.is_green(text) == (run.verdict.exit_code == 0)


def test_an_operation_that_was_left_out_is_skipped() -> None:
    subject = Subject(kind="operation", name="send_recv")
    left_out = samples.finding(code="left-out", severity="info", subject=subject, message="one rank")
    good = samples.good_run()
    run = Run(info=good.info, verdict=good.verdict, measurements=good.measurements, findings=(left_out,))
    assert junit.valid(renderer("junit")(run))["probe.operations send_recv"] == ["skipped"]


def test_several_runs_are_suites_of_one_document() -> None:
    text = joined([samples.good_run(), samples.failing_run()], "junit")
    assert text.count("<testsuite ") == 2
    assert not junit.is_green(text)


def test_nothing_that_a_host_said_acts_on_a_terminal() -> None:
    finding = samples.finding(message="\x1b[31m<&\ud800", evidence=("]]>\x00",), remedy="\u202e")
    good = samples.good_run()
    text = renderer("junit")(Run(info=good.info, verdict=good.verdict, measurements=(), findings=(finding,)))
    junit.valid(text)
    assert text.replace("\n", "").isprintable()
