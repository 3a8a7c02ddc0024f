"""Numbers against what is expected of them: rows and expectations, and what is said."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.preflight import probe_run
from nccltool.preflight.probe_run import ProbePart
from nccltool.preflight.suite import Expectation
from nccltool.probe.late_rank import RankLateness
from tests import samples
from tests.preflight.samples import ran, run

PART = ProbePart(ops=("all_reduce",), sizes=(8,))


def wanted(metric: str, **changes: Any) -> Expectation:
    return Expectation(metric=metric, text="as expected", source="a page", **changes)


SMALL = samples.measurement(bytes=1024, busbw_bytes_per_s=1e9)
LARGE = samples.measurement(bytes=2**20, busbw_bytes_per_s=300e9, limit_busbw_bytes_per_s=400e9)
IN_TIME = samples.measurement(bytes=2**20, late_ranks=())
LATE = samples.measurement(bytes=2**20, late_ranks=(RankLateness(rank=3, late_s=0.05),))
LAUNCHED = samples.measurement(bytes=8, busbw_bytes_per_s=1e9, launch_limited=True)
NOISY = samples.measurement(busbw_bytes_per_s=300e9, noisy=True)


@pytest.mark.parametrize(
    ("rows", "expectation", "expected"),
    [
        ((SMALL, LARGE), wanted("busbw", low=250e9), ("across/all_reduce-busbw", None, "pass", 300e9)),
        ((SMALL, LARGE), wanted("busbw", low=301e9), ("across/all_reduce-busbw", None, "fail", 300e9)),
        (
            (SMALL, LARGE),
            wanted("busbw", low=2e9, size=1024, of="all_reduce", severity="warn"),
            ("across/all_reduce-busbw-1KiB", None, "warn", 1e9),
        ),
        (
            (SMALL,),
            wanted("busbw", low=2e9, size=2**30, of="all_reduce"),
            ("across/all_reduce-busbw-1GiB", None, "skip", None),
        ),
        ((LARGE,), wanted("busbw", low=1e9, backend="nccl"), ("across/busbw", None, "skip", None)),
        ((LARGE,), wanted("busbw", low=1e9, nodes=4), ("across/busbw", None, "skip", None)),
        ((LARGE,), wanted("busbw", high=250e9), ("across/all_reduce-busbw", None, "fail", 300e9)),
        ((NOISY,), wanted("busbw", low=310e9), ("across/all_reduce-busbw", None, "unknown", 300e9)),
        ((NOISY,), wanted("busbw", low=500e9), ("across/all_reduce-busbw", None, "fail", 300e9)),
        # Python's launches took the time: the fabric may be faster, and is not slower
        ((LAUNCHED,), wanted("busbw", low=2e9), ("across/all_reduce-busbw", None, "unknown", 1e9)),
        ((LAUNCHED,), wanted("busbw", low=0.5e9), ("across/all_reduce-busbw", None, "pass", 1e9)),
        ((LAUNCHED,), wanted("time", high=0.001), ("across/all_reduce-time", None, "unknown", 0.002)),
        ((LAUNCHED,), wanted("time", high=0.1), ("across/all_reduce-time", None, "pass", 0.002)),
        ((LARGE,), wanted("share_of_limit", low=0.5), ("across/all_reduce-share_of_limit", None, "pass", 0.75)),
        ((SMALL,), wanted("share_of_limit", low=0.5), ("across/all_reduce-share_of_limit", None, "unknown", None)),
        ((LARGE,), wanted("late", high=0.02), ("across/late", None, "unknown", None)),
        ((LARGE, IN_TIME), wanted("late", high=0.02), ("across/late", None, "pass", 0.0)),
        ((IN_TIME, LATE), wanted("late", high=0.02), ("across/late", "n2", "fail", 0.05)),
        ((IN_TIME, LATE, IN_TIME), wanted("late", high=0.02), ("across/late", None, "pass", 0.0)),
        ((IN_TIME, LATE), wanted("late", high=0.1), ("across/late", None, "pass", 0.05)),
        ((LATE,), wanted("late", high=0.02, of="all_reduce"), ("across/all_reduce-late", "n2", "fail", 0.05)),
        ((LARGE,), wanted("time", high=0.001), ("across/all_reduce-time", None, "fail", 0.002)),
        ((), wanted("late", high=0.02), ("across/late", None, "skip", None)),
    ],
)
def test_numbers(rows: Any, expectation: Expectation, expected: tuple[str, str | None, str, float | None]) -> None:
    outcomes = probe_run.judged(ran(run(measurements=rows)), replace(PART, expect=(expectation,)))
    (one,) = [outcome for outcome in outcomes if outcome.source == "a page"]
    assert (one.code, one.host, one.status) == expected[:3]
    assert one.measured == (None if expected[3] is None else pytest.approx(expected[3]))
    assert (one.expected, one.source) == ("as expected", "a page")
    assert (one.status in ("pass", "skip")) == (one.page == "")
    # numbers of all hosts together do not tell which of them is slow; a rank that came late does
    assert ("nccltool pairs" in one.remedy) == (one.status in ("warn", "fail") and one.host is None)


SHARE = wanted("share_of_limit", low=0.5, of="all_reduce")
FLOOR = wanted("busbw", low=250e9, of="all_reduce", nodes=2)
UNLIMITED = replace(LARGE, limit_busbw_bytes_per_s=None)
NOT_KNOWN = "the limit of the links is unknown: hidden"
ASK = '; set a floor to check instead: metric = "busbw" in a suite or platform file'


@pytest.mark.parametrize(
    ("floor", "status", "required", "reason"),
    [
        (FLOOR, "skip", False, f"{NOT_KNOWN}; busbw as expected is checked instead"),
        (replace(FLOOR, size=2**20), "skip", False, f"{NOT_KNOWN}; busbw as expected at 1 MiB is checked instead"),
        (replace(FLOOR, metric="algbw"), "skip", False, f"{NOT_KNOWN}; algbw as expected is checked instead"),
        (replace(FLOOR, of=""), "skip", False, f"{NOT_KNOWN}; busbw as expected is checked instead"),
        (replace(FLOOR, size=2**30), "unknown", True, f"{NOT_KNOWN}{ASK}"),  # which is not measured
        (replace(FLOOR, nodes=4), "unknown", True, f"{NOT_KNOWN}{ASK}"),
        (replace(FLOOR, backend="nccl"), "unknown", True, f"{NOT_KNOWN}{ASK}"),
        (replace(FLOOR, of="all_gather"), "unknown", True, f"{NOT_KNOWN}{ASK}"),
        (replace(FLOOR, low=None, high=1.0), "unknown", True, f"{NOT_KNOWN}{ASK}"),
        (wanted("late", high=0.02), "unknown", True, f"{NOT_KNOWN}{ASK}"),
    ],
)
def test_where_a_limit_is_not_known_a_floor_is_judged(
    floor: Expectation, status: str, required: bool, reason: str
) -> None:
    measured = run(measurements=(UNLIMITED,))
    measured = replace(measured, info=replace(measured.info, limit_unknown_reason="hidden", nodes=2))
    outcomes = probe_run.judged(ran(measured), replace(PART, expect=(floor, SHARE)))
    (one,) = [outcome for outcome in outcomes if outcome.code == "across/all_reduce-share_of_limit"]
    assert (one.status, one.required, one.reason) == (status, required, reason)


@pytest.mark.parametrize(
    ("emulated", "ranks", "expectation", "reason"),
    [
        (True, 4, SHARE, "applies only to real hosts, but these nodes are processes on one host"),
        (True, 4, FLOOR, "applies only to real hosts, but these nodes are processes on one host"),
        (True, 4, replace(FLOOR, nodes=None), ""),
        (False, 8, replace(FLOOR, ranks_per_node=8), "applies to 8 ranks per node"),
        (False, 16, replace(FLOOR, ranks_per_node=8), ""),
        (False, 16, replace(FLOOR, nodes=None, ranks_per_node=8), ""),
    ],
)
def test_what_was_published_of_hosts_is_not_expected_of_parts_of_them(
    emulated: bool, ranks: int, expectation: Expectation, reason: str
) -> None:
    measured = run(measurements=(LARGE,))
    measured = replace(measured, info=replace(measured.info, emulated=emulated, nodes=2, world_size=ranks))
    outcomes = probe_run.judged(ran(measured), replace(PART, expect=(expectation,)))
    (one,) = [outcome for outcome in outcomes if outcome.source == "a page"]
    assert (one.status, one.reason) == ("skip" if reason else "pass", reason)


def test_a_limit_that_is_known_is_judged_beside_a_floor() -> None:
    outcomes = probe_run.judged(ran(run(measurements=(LARGE,))), replace(PART, expect=(FLOOR, SHARE)))
    found = {one.code: one.status for one in outcomes if one.source == "a page"}
    assert found == {"across/all_reduce-busbw": "pass", "across/all_reduce-share_of_limit": "pass"}


def test_a_number_that_only_warns_does_not_make_the_verdict_unknown() -> None:
    expectation = wanted("share_of_limit", low=0.5, severity="warn")
    outcomes = probe_run.judged(ran(run()), replace(PART, expect=(expectation,)))
    assert [(one.status, one.required) for one in outcomes if one.source == "a page"] == [("unknown", False)]


@pytest.mark.parametrize(("row", "doubt"), [(NOISY, "too noisy"), (LAUNCHED, "limited by launch overhead")])
def test_a_number_that_cannot_be_told_says_why(row: Any, doubt: str) -> None:
    part = replace(PART, expect=(wanted("busbw", low=310e9),))
    (one,) = [one for one in probe_run.judged(ran(run(measurements=(row,))), part) if one.source == "a page"]
    assert one.reason.endswith(f" cannot be distinguished from the limit: {doubt}")
