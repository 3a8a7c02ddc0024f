"""Runs of probes, judged: whether they ended in order, their data, and what else they found."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.compare.result import Against, Effect, RowKey
from nccltool.preflight import probe_run
from nccltool.preflight.probe_run import ProbePart
from nccltool.probe.result import Run
from tests import samples
from tests.preflight.samples import found, ran, run, told

PART = ProbePart(ops=("all_reduce",), sizes=(8,))

DATA_PASS = {("across/data", None): ("pass", "")}
DATA_SKIP = {("across/data", None): ("skip", "")}
DATA_UNKNOWN = {("across/data", None): ("unknown", "")}
COMPLETED = {("across/completed", None): ("pass", "")}


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (run(), COMPLETED | DATA_PASS),
        (run(found("wrong-data", "rank", "1")), COMPLETED | {("across/data", "n1"): ("fail", "suspected")}),
        (run(measurements=(samples.measurement(wrong=None),)), COMPLETED | DATA_UNKNOWN),
        (run(measurements=()), COMPLETED | DATA_UNKNOWN),
    ],
)
def test_a_probe(what: Run | None, expected: Any) -> None:
    assert told(probe_run.judged(ran(what, why_not="killed"), PART)) == expected


def test_data_that_a_suite_does_not_check_is_not_unknown() -> None:
    unchecked = ran(run(measurements=(samples.measurement(wrong=None),)))
    outcomes = told(probe_run.judged(unchecked, replace(PART, checks=0)))
    assert outcomes == COMPLETED | DATA_SKIP


def test_a_baseline() -> None:
    row = samples.measurement()
    key = RowKey(
        op=row.op, bytes=row.bytes, dtype="float32", reduce_op="sum", placement="in-place", cadence="stream"
    )
    slower = Against(
        key=key,
        status="fail",
        measured_busbw_bytes_per_s=90e9,
        expected_busbw_bytes_per_s=100e9,
        effect=Effect(
            outcome="worse",
            change=-0.1,
            low=-0.12,
            high=-0.08,
            p_adjusted=0.001,
            spread=0.01,
            spread_is_measured=True,
        ),
        reason="",
        source="baseline usual of 5 runs",
    )
    (one,) = probe_run.held_against(ran(run()), (slower,))
    assert (one.code, one.status, one.measured, one.expected) == (
        "across/all_reduce-baseline-1MiB",
        "fail",
        90e9,
        "100.0 GB/s",
    )
    assert one.reason == "10.0 % slower (95 % CI 8.0 % to 12.0 %) compared with baseline usual of 5 runs"
