"""The sentences."""

from dataclasses import replace

import pytest

from nccltool.history import wording
from nccltool.history.records import Series
from nccltool.history.result import Drift, RepeatOffence, VersionChange
from tests.history.samples import BUSBW, SLOW

OFFENCE = RepeatOffence(
    host="n17",
    check=SLOW,
    times=4,
    runs=9,
    alone=3,
    proven=4,
    first="2026-11-03T02:00:00Z",
    last="2026-11-12T02:00:00Z",
    is_current=True,
    reason="rank 3 was late",
    since=(VersionChange(what="driver", before="550.54", after="560.35"),),
)
DRIFT = Drift(
    host="n17",
    series=BUSBW,
    at="2026-10-04T02:00:00Z",
    earliest="2026-10-02T02:00:00Z",
    latest="2026-10-06T02:00:00Z",
    before=50e9,
    after=47.5e9,
    ratio=0.95,
    ratio_low=0.94,
    ratio_high=0.96,
    chance=0.001,
    values=60,
    is_worse=True,
    since=OFFENCE.since,
)


@pytest.mark.parametrize(
    ("offence", "text"),
    [
        (
            OFFENCE,
            "did not pass in 4 of 9 runs since 2026-11-03, in 3 of them on this host alone; new then: "
            "driver 550.54 -> 560.35",
        ),
        (
            replace(OFFENCE, times=1, alone=1, runs=1, since=()),
            "did not pass in 1 of 1 run since 2026-11-03, on this host alone",
        ),
        (
            replace(OFFENCE, alone=4, since=(), is_current=False),
            "did not pass in 4 of 9 runs since 2026-11-03, each time on this host alone; passed since 2026-11-12",
        ),
        (replace(OFFENCE, alone=0, since=()), "did not pass in 4 of 9 runs since 2026-11-03"),
    ],
)
def test_repeated(offence: RepeatOffence, text: str) -> None:
    assert wording.repeated(offence) == text


def test_drifted() -> None:
    assert wording.drifted(DRIFT) == (
        "5.0 % lower since 2026-10-04 (95 % interval 4.0 % to 6.0 %, between 2026-10-02 and 2026-10-06), "
        "50.00 GB/s to 47.50 GB/s"
    )
    sure = replace(DRIFT, ratio=2.0, ratio_low=1.9, ratio_high=2.1, earliest=DRIFT.latest)
    assert wording.drifted(sure).startswith(
        "100.0 % higher since 2026-10-04 (95 % interval 90.0 % to 110.0 %, on "
    )


def test_names() -> None:
    series = Series(name="ddp step", detail="8 ranks", unit="s", of="ddp")
    assert wording.line_name("", series) == "all hosts: ddp step (8 ranks)"
    assert wording.line_name("n17", BUSBW) == "n17: within/all_reduce-busbw-64MiB"
    assert wording.value(0.0123, series) == "12.3 ms"
