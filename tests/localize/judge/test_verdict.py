"""The verdict over encounters."""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import judge
from nccltool.localize.result import Localization
from tests.localize.judge.fabric import HEALTHY, NODES, everyone, healthy, one, slow_nodes

ISSUE_106 = (
    ("644", "699", 49.36),
    ("632", "641", 88.36),
    ("284", "678", 49.28),
    ("641", "644", 49.30),
    ("404", "699", 86.81),
)


def test_the_pairs_of_nccl_tests_issue_106() -> None:
    found = judge([one((a, b), speed * 1e9 / HEALTHY) for a, b, speed in ISSUE_106])
    assert [(each.kind, each.subject) for each in found.suspects] == [("node", ("644",))]
    assert found.undetermined == (("284", "678"),)
    assert sorted(test.members[0] for test in found.next_tests) == ["284", "678"]
    assert {test.members[1] for test in found.next_tests} <= {"632", "641", "404", "699"}


@pytest.mark.parametrize(
    ("rows", "expected", "scope"),
    [
        ([], None, "unknown"),
        ([one("ab", None)], None, "unknown"),
        ([one("ab")], None, "unknown"),
        ([one("ab")], HEALTHY, "nothing-slow"),
        ([one("ab"), one("cd", 0.1)], None, "unknown"),
        ([one("ab"), one("cd", 0.1), one("ac", None)], None, "unknown"),
        ([one("ab", 0.27), one("ab", 0.74, 1)], None, "unknown"),
        ([one("ab", 0.97, number) for number in range(6)], None, "unknown"),
        ([one("ab"), one("cd")], HEALTHY, "nothing-slow"),
        (everyone(slow_nodes(n01=0.5)), 0.4 * HEALTHY, "nothing-slow"),
        (everyone(slow_nodes(n01=0.5)), 0.9 * HEALTHY, "suspects"),
        (everyone(healthy), HEALTHY / 0.99, "nothing-slow"),
        (everyone(healthy), 4.2 * HEALTHY, "fabric-wide"),
        (everyone(healthy), None, "nothing-slow"),
        (everyone(slow_nodes(n01=0.5)), None, "suspects"),
        ([*everyone(healthy), one("xy", 0.5)], None, "undetermined"),
        (everyone(healthy), 2 * HEALTHY, "fabric-wide"),
        (everyone(slow_nodes(**dict.fromkeys(NODES[:10], 0.5)), rounds=15), None, "fabric-wide"),
    ],
)
def test_the_scope(rows: list[Encounter], expected: float | None, scope: str) -> None:
    found = judge(rows, expected_busbw_bytes_per_s=expected)
    assert found.scope == scope
    assert bool(found.suspects) == (scope == "suspects")
    assert found.reason


def test_nothing_slow_means_nothing_if_a_halved_node_could_not_show() -> None:
    rows = everyone(healthy, noise=0.35, nodes=NODES[:4], rounds=3)
    found = judge(rows)
    assert found.smallest_visible_fault is not None
    assert found.smallest_visible_fault > 0.5
    assert (found.scope, found.suspects) == ("unknown", ())
    assert found.reason == "the measurements differ so much that a node at half the speed could not show"


def test_two_speeds_are_no_measure_of_noise() -> None:
    found = judge([one("ab"), one("cd", 0.1)])
    assert (found.noise, found.healthy_busbw_bytes_per_s, found.next_tests) == (None, None, ())
    assert found.reason == "2 encounters have a bandwidth, too few to tell a fault from noise"


@pytest.mark.parametrize("share", [0.5, 0.99, 1.01, 4.2])
def test_what_is_expected_is_the_healthy_level(share: float) -> None:
    rows = everyone(healthy)
    found = judge(rows, expected_busbw_bytes_per_s=share * HEALTHY)
    assert found.healthy_busbw_bytes_per_s == pytest.approx(share * HEALTHY)
    assert found.noise == pytest.approx(0.02, rel=0.25)


def test_with_an_expected_bandwidth_a_majority_can_be_slow() -> None:
    bad = NODES[:10]
    rows = everyone(slow_nodes(**dict.fromkeys(bad, 0.5)), rounds=15)
    found = judge(rows, expected_busbw_bytes_per_s=HEALTHY)
    assert sorted(each.subject[0] for each in found.suspects) == [*bad]


def test_what_this_data_could_have_shown() -> None:
    found = judge(everyone(healthy, noise=0.03, rounds=15))
    assert found.noise == pytest.approx(0.03, rel=0.25)
    assert found.smallest_visible_fault == pytest.approx(0.055, abs=0.02)
    assert found.healthy_busbw_bytes_per_s == pytest.approx(HEALTHY, rel=0.02)


def named(found: Localization) -> tuple[object, ...]:
    return found.scope, {(each.kind, frozenset(each.subject)) for each in found.suspects}


SPEEDS = st.dictionaries(st.sampled_from(NODES), st.sampled_from([0.3, 0.5, 0.7, None]), max_size=4)
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(SPEEDS, st.randoms(use_true_random=False))
def test_neither_order_nor_names_matter(shares: dict[str, float | None], chance: random.Random) -> None:
    rows = everyone(slow_nodes(**shares))
    other = dict(zip(NODES, chance.sample([f"x{number}" for number in range(99)], len(NODES)), strict=True))
    renamed = [replace(each, members=tuple(other[name] for name in each.members)) for each in rows]
    chance.shuffle(renamed)
    scope, suspects = named(judge(rows))
    assert isinstance(suspects, set)
    assert named(judge(renamed)) == (
        scope,
        {(kind, frozenset(other[name] for name in names)) for kind, names in suspects},
    )


@QUICK
@given(SPEEDS, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(shares: dict[str, float | None], factor: float) -> None:
    rows = everyone(slow_nodes(**shares))
    scaled = [
        replace(each, busbw_bytes_per_s=each.busbw_bytes_per_s and each.busbw_bytes_per_s * factor)
        for each in rows
    ]
    assert named(judge(scaled)) == named(judge(rows))


@QUICK
@given(SPEEDS, st.permutations(NODES))
def test_a_healthy_pair_accuses_nobody_new(shares: dict[str, float | None], order: list[str]) -> None:
    rows = everyone(slow_nodes(**shares))
    good = [name for name in order if name not in shares]
    more = [*rows, one(good[:2], 1.0, 30)]
    before, after = ({each.subject for each in judge(each).suspects} for each in (rows, more))
    assert after <= before
