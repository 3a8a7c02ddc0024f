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
    # what selective recomputation leaves behind differs between runs
    wrong = {one.name: one.wrong for one in found if one.wrong and "selective" not in one.name}
    assert wrong == {}
