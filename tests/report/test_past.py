"""What runs say together: repeated failures and changed levels, as in the history; few runs say nothing."""

from dataclasses import replace

from nccltool.report import past
from tests import samples
from tests.report import materials


def test_a_changed_level_and_a_repeated_failure() -> None:
    found = past.of(materials.nights().runs)
    assert found is not None
    assert found.runs == 20
    (drift,) = found.drifts
    assert (drift.at[:10], round(drift.ratio, 2), drift.is_worse) == ("2025-01-11", 0.8, True)
    assert [(one.host, one.check, one.times, one.runs) for one in found.offences] == [
        ("beta", "rank-died", 2, 15),
        ("", "clock-skew", 2, 15),
    ]


def test_few_runs_and_runs_without_a_time_say_nothing() -> None:
    runs = materials.nights().runs
    assert past.of(runs[:4]) is None
    late = replace(materials.swept(), info=samples.info(started="2199-01-01T00:00:00Z"))
    assert past.of((*runs[:4], materials.reported(late))) is None
