"""How long a preflight still takes."""

import pytest

from nccltool.preflight.activity import Activity, StageEnd


@pytest.mark.parametrize(("after_s", "left_s"), [(0.0, 15.0), (4.0, 11.0), (30.0, 10.0)])
def test_what_is_left(after_s: float, left_s: float) -> None:
    activity = Activity(planned=3)
    activity.begin("within", about_s=5.0, later_s=10.0)
    began = activity.ends_at - 5.0
    assert activity.left_s(began + after_s) == pytest.approx(left_s)
    activity.step = "probe on n1"
    activity.end(StageEnd(stage="within", result="pass", seconds=after_s))
    assert (activity.stage, activity.step, activity.left_s(began)) == ("", "", 0.0)
