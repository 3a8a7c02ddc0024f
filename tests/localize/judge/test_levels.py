"""The healthy bandwidth and the noise."""

import math

import numpy as np
import pytest

from nccltool.localize.judge import levels, observed
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import HEALTHY, NODES, everyone, healthy, one, slow_nodes


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.06])
@pytest.mark.parametrize("bad", [0, 1, 4])
def test_faults_do_not_move_them(noise: float, bad: int) -> None:
    rows = everyone(slow_nodes(**dict.fromkeys(NODES[:bad], 0.6)), rounds=15, noise=noise)
    found = levels.first(observed.observe(rows, Topology()), None)
    assert math.exp(found.healthy[0]) == pytest.approx(HEALTHY, rel=noise)
    assert found.sigma == pytest.approx(noise, rel=0.4)


def test_the_higher_of_two_modes_is_healthy_even_if_it_is_smaller() -> None:
    values = np.sort(np.concatenate([np.linspace(-0.02, 0.02, 40), np.linspace(-0.42, -0.38, 60)]))
    assert levels.top_mode(values) == pytest.approx(0.0, abs=0.015)


@pytest.mark.parametrize("share", [0.5, 0.95, 1.05, 4.2])
def test_what_is_expected_replaces_the_healthy_level_and_not_the_noise(share: float) -> None:
    known = observed.observe(everyone(healthy, noise=0.03), Topology())
    found = levels.first(known, math.log(share * HEALTHY))
    assert found.healthy.tolist() == [math.log(share * HEALTHY)]
    assert found.sigma == levels.first(known).sigma


def test_groups_are_compared_with_pairs_if_all_groups_are_slow() -> None:
    rows = [*everyone(healthy), *[one("abc", 0.4)] * 5]
    found = levels.first(observed.observe(rows, Topology()), None)
    assert found.healthy == pytest.approx(math.log(HEALTHY), abs=0.03)


def test_what_is_much_faster_than_the_rest() -> None:
    known = observed.observe([*everyone(healthy), one("ab", 2.0)], Topology())
    assert levels.quick(known, levels.first(known, None)).sum() == 1


def test_better_weights_sharpen_the_noise() -> None:
    known = observed.observe(everyone(healthy, rounds=15, noise=0.06), Topology())
    rough = levels.first(known, None)
    fine = levels.refined(known, rough.healthy, np.ones(len(known.logs)))
    assert abs(fine.sigma - 0.06) < 0.01


@pytest.mark.parametrize(("spread", "noise"), [(0.0, 0.02), (0.3, 0.3)])
def test_repeats_that_differ_are_noise_even_if_it_only_slows(spread: float, noise: float) -> None:
    rows = [
        one(pair, math.exp(-spread * number), number)
        for number in range(3)
        for pair in (("a", "b"), ("c", "d"), ("a", "c"), ("b", "d"))
    ]
    found = levels.first(observed.observe(rows, Topology()))
    assert found.sigma == pytest.approx(noise, rel=0.01)
