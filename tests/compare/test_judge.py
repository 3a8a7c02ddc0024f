"""Two sets of runs against each other: what is called different, what is refused, what a baseline expects."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.compare import judge
from nccltool.compare.result import Baseline
from nccltool.probe.result import Measurement
from tests.compare.samples import HERE, KEY, STEADY, run
from tests.samples import info, measurement, stats

BASELINE = Baseline(
    name="night",
    created="",
    changed="",
    note="",
    runs=tuple(run(f"r{k}", [time]) for k, time in enumerate(STEADY)),
)


def _measured(mean: float, **changes: Any) -> Measurement:
    times = stats(mean, median=mean, p90=mean * 1.005)
    return measurement(time_s=times, busbw_bytes_per_s=1e6 / mean, **changes)


@pytest.mark.parametrize(
    ("row", "status", "reason"),
    [
        (_measured(1.0), "pass", ""),
        (_measured(1.5), "fail", ""),
        (_measured(0.5), "pass", ""),
        (_measured(1.5, wrong=3), "unknown", "wrong data"),
        (_measured(1.0, dtype="bfloat16"), "skip", "baseline night of 5 runs does not have this measurement"),
    ],
)
def test_against_a_baseline(row: Measurement, status: str, reason: str) -> None:
    here = {"transport": "ib", "nics": HERE.nics, "gpu": HERE.gpu, "nodes": 2, "world_size": 16}
    unknown = {"backend": None, "backend_version": None, "torch": None}
    usual = _measured(1.0, bytes=8)
    eight = replace(
        BASELINE,
        runs=tuple(
            replace(
                each,
                rows=(*each.rows, replace(each.rows[0], key=replace(KEY, bytes=8))),
                circumstances=replace(HERE, tool="nccltool 0.1.0"),
            )
            for each in BASELINE.runs
        ),
    )
    found = judge.against(eight, info(**here, **unknown), (row, usual))
    assert (found[0].status, found[0].reason) == (status, reason)
    assert found[1].status == "pass"


def test_against_a_baseline_of_something_else() -> None:
    (found,) = judge.against(BASELINE, info(), (_measured(1.0),))
    assert found.status == "unknown"
    assert "transport (ib; unknown)" in found.reason
    assert found.expected_busbw_bytes_per_s is None


def test_what_a_baseline_expects() -> None:
    (found,) = judge.summary(BASELINE)
    assert (found.runs, found.time_s, found.least_s, found.most_s) == (5, 1.0, 0.998, 1.002)
    assert found.spread == pytest.approx(0.0018, rel=0.1)
    (single,) = judge.summary(replace(BASELINE, runs=BASELINE.runs[:1]))
    assert single.spread is None
