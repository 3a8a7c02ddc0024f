"""Thresholds and wrong data."""

from typing import Any

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.probe import judge
from nccltool.probe.events import WrongData
from nccltool.probe.result import Measurement
from tests.samples import measurement, stats


def row(busbw_gb_per_s: float, **changes: Any) -> Measurement:
    """Its interval is 10 % to both sides of the mean time."""
    return measurement(busbw_bytes_per_s=busbw_gb_per_s * 1e9, **changes)


LOW_REMEDY = "check the rank and host that the others wait for; find a slow node or link with nccltool pairs"
THRESHOLD = "threshold: --min-busbw, checked at the operation's largest size"


def low(op: str, message: str, interval: str) -> Finding:
    return Finding(
        code="busbw-low",
        severity="error",
        subject=Subject(kind="operation", name=op),
        message=message,
        evidence=(interval, THRESHOLD),
        remedy=LOW_REMEDY,
    )


def unknown(op: str, message: str, interval: str) -> Finding:
    return Finding(
        code="busbw-unknown",
        severity="warning",
        subject=Subject(kind="operation", name=op),
        message=message,
        evidence=(interval, THRESHOLD),
        remedy="measure longer: --budget 5",
    )


@pytest.mark.parametrize(
    ("rows", "threshold", "findings"),
    [
        ([row(1.0)], None, []),
        ([row(10.0)], 10.0, []),
        ([row(10.0)], 0.0, []),
        ([], 10.0, []),
        (
            [row(9.99)],
            10.0,
            [
                low(
                    "all_reduce",
                    "all_reduce at 1 MiB: busbw 9.99 GB/s is below 10 GB/s",
                    "between 9.08 and 11.10 GB/s",
                )
            ],
        ),
        # the largest size counts, wherever it stands, and no other
        ([row(50.0), row(1.0, bytes=1024)], 10.0, []),
        (
            [row(5.0), row(50.0, bytes=1024)],
            10.0,
            [
                low(
                    "all_reduce",
                    "all_reduce at 1 MiB: busbw 5.00 GB/s is below 10 GB/s",
                    "between 4.55 and 5.56 GB/s",
                )
            ],
        ),
        # each operation and each placement by itself
        (
            [
                row(50.0),
                row(2.0, op="gather", placement="out-of-place"),
                row(60.0, op="all_gather", placement="out-of-place"),
                row(0.5, op="all_gather", time_s=stats(ci95=None)),
            ],
            10.0,
            [
                low(
                    "gather",
                    "gather at 1 MiB: busbw 2.00 GB/s is below 10 GB/s",
                    "between 1.82 and 2.22 GB/s",
                ),
                low(
                    "all_gather",
                    "all_gather at 1 MiB: busbw 0.500 GB/s is below 10 GB/s",
                    "between 0.500 and 0.500 GB/s",
                ),
            ],
        ),
        # noise decides nothing, in either direction; it does not matter far from the threshold
        (
            [row(10.5, noisy=True)],
            10.0,
            [
                unknown(
                    "all_reduce",
                    "all_reduce at 1 MiB: busbw 10.50 GB/s: too noisy to compare with 10 GB/s",
                    "between 9.55 and 11.67 GB/s",
                )
            ],
        ),
        (
            [row(9.5, noisy=True)],
            10.0,
            [
                unknown(
                    "all_reduce",
                    "all_reduce at 1 MiB: busbw 9.50 GB/s: too noisy to compare with 10 GB/s",
                    "between 8.64 and 10.56 GB/s",
                )
            ],
        ),
        ([row(20.0, noisy=True)], 10.0, []),
        (
            [row(5.0, noisy=True)],
            10.0,
            [
                low(
                    "all_reduce",
                    "all_reduce at 1 MiB: busbw 5.00 GB/s is below 10 GB/s",
                    "between 4.55 and 5.56 GB/s",
                )
            ],
        ),
    ],
)
def test_thresholds(rows: list[Measurement], threshold: float | None, findings: list[Finding]) -> None:
    assert list(judge.below(rows, (), threshold)) == findings


def wrong(rank: int, **changes: Any) -> WrongData:
    fields = {
        "step": 0,
        "op": "all_reduce",
        "bytes": 1024,
        "elements": 1,
        "first_index": 128,
        "got": "7.0",
        "expected": "6.0",
        "source": "the reduction",
    }
    return WrongData(rank=rank, **{**fields, **changes})


def wrong_finding(rank: int, message: str, evidence: str) -> Finding:
    return Finding(
        code="wrong-data",
        severity="error",
        subject=Subject(kind="rank", name=str(rank)),
        message=message,
        evidence=(evidence,),
        remedy="do not train on these hosts: repeat with -c 20 on each half of them to find the one that "
        "corrupts data",
    )


@pytest.mark.parametrize(
    ("events", "findings"),
    [
        ([], []),
        (
            [wrong(1)],
            [
                wrong_finding(
                    1,
                    "rank 1 received 1 wrong element, first in all_reduce at 1 KiB",
                    "element 128: got 7.0, expected 6.0 (the reduction)",
                )
            ],
        ),
        (
            [
                wrong(3, op="gather", bytes=2**20, elements=10, first_index=0, source="rank 2"),
                wrong(1, elements=2),
                wrong(3, op="all_reduce", elements=5),
            ],
            [
                wrong_finding(
                    3,
                    "rank 3 received 15 wrong elements, first in gather at 1 MiB",
                    "element 0: got 7.0, expected 6.0 (rank 2)",
                ),
                wrong_finding(
                    1,
                    "rank 1 received 2 wrong elements, first in all_reduce at 1 KiB",
                    "element 128: got 7.0, expected 6.0 (the reduction)",
                ),
            ],
        ),
    ],
)
def test_wrong_data_is_one_finding_a_rank(events: list[WrongData], findings: list[Finding]) -> None:
    assert list(judge.wrong_data(events)) == findings


def test_an_operation_that_was_not_measured_cannot_be_told() -> None:
    (finding,) = judge.below((), ("send_recv",), 1.0)
    assert (finding.code, finding.severity, finding.subject.name) == ("busbw-unknown", "warning", "send_recv")
    assert judge.below((), ("send_recv",), None) == ()


def test_python_is_no_slow_fabric() -> None:
    """Devices waited for their hosts: the fabric may be faster, and is not slower."""
    (found,) = judge.below((row(9.0, launch_limited=True),), (), 10.0)
    assert (found.code, found.message, found.remedy) == (
        "busbw-unknown",
        "all_reduce at 1 MiB: busbw 9.00 GB/s: limited by launch overhead, so it cannot be compared with 10 GB/s",
        "use --cuda-graph; check what else runs on the CPUs of these hosts",
    )
    assert judge.below((row(11.0, launch_limited=True),), (), 10.0) == ()
