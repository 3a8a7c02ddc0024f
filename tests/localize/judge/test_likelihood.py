"""How likely a measurement is at each level."""

import math

import pytest

from nccltool.localize.judge import levels, likelihood, observed
from nccltool.localize.judge.states import CENTERS, DEAD
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import everyone, healthy, one


@pytest.mark.parametrize("share", [1.0, 0.9, 0.7, 0.5, 0.1])
def test_the_likeliest_level_is_near(share: float) -> None:
    known = observed.observe([*everyone(healthy), one("ab", share)], Topology())
    row = likelihood.of_levels(known, levels.first(known, None))[
        [each.members for each in known.encounters].index(("a", "b"))
    ]
    assert -CENTERS[row.argmax()] == pytest.approx(math.log(share), abs=0.35)
    assert row.max() == 1


def test_no_result_is_likeliest_from_what_is_dead_but_happens_to_all() -> None:
    known = observed.observe([*everyone(healthy), one("ab", None)], Topology())
    row = likelihood.of_levels(known, levels.first(known, None))[0]
    assert row.argmax() == DEAD
    assert 0 < row[0] < 0.05
