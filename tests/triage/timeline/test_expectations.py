"""A log measures less than somebody wrote down as expected."""

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline import expectations
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.model import Timeline

AVERAGE = "# Avg bus bandwidth    : 95.1"
STEPS = "".join(f"step {step} | 41.2 s/step | tokens/s 910\n" for step in (1, 2, 3))
SERVED = "Mean TTFT (ms):                          4127.90"


def timeline(log: str) -> Timeline:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [f"{log}\n".encode()]))
    return builder.timeline(reader.lines_read)


@pytest.mark.parametrize(
    ("log", "wanted", "unit"),
    [
        (f"{AVERAGE}\nexpected: 380 GB/s on this fabric", 380, "GB/s"),
        (f"{AVERAGE}\n# was 370 in acceptance", 370, "GB/s"),
        (f"{STEPS}# last week: 6.1 s/step", 6.1, "s/step"),
        (f"{STEPS}expected 9 s/step", 9, "s/step"),
        (f"{SERVED}\ntarget: mean TTFT below 1200 ms for isl 8192", 1200, "ms"),
    ],
)
def test_less_than_expected_is_a_slow_path(log: str, wanted: float, unit: str) -> None:
    found = expectations.missed(timeline(log))
    assert found and (found.wanted, found.unit) == (wanted, unit)
    assert judge(timeline(log)).root_cause == "slow-path"


@pytest.mark.parametrize(
    "log",
    [
        f"{AVERAGE}\nexpected: 90 GB/s on this fabric",
        f"{AVERAGE}\n# was 100 in acceptance",
        f"{AVERAGE}\n# started at 12:40:11 with the image 24.10",
        f"{STEPS}expected 50 s/step",
        f"{SERVED}\ntarget: mean TPOT below 40 ms",
        "expected 380 GB/s",
    ],
)
def test_what_is_met_or_not_measured_is_no_shortfall(log: str) -> None:
    assert expectations.missed(timeline(log)) is None
