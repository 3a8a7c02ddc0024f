"""What torch calls and keeps is what plans say, in each kind of layout."""

import pytest
from benchmarks import plan_counts

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    "kinds", [pytest.param(plan_counts.QUICK, id="two ranks"), pytest.param((), id="all", marks=pytest.mark.slow)]
)
def test_calls_and_memory_are_as_planned(kinds: tuple[str, ...]) -> None:
    found = plan_counts.counted(kinds)
    assert {one.name: one.reason for one in found if one.reason} == {}
    wrong = {(one.name, row.what) for one in found for row in one.wrong}
    # what selective recomputation leaves behind differs between runs
    assert {(name, what) for name, what in wrong if "selective" not in name or what != "activations"} == set()
