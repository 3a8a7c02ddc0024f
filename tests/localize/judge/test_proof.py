"""Noise that makes only slower accuses nobody."""

import pytest

from nccltool.localize.judge import judge
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import HEALTHY, NODES, everyone, healthy, one, slow_nodes


@pytest.mark.parametrize("share", [0.5, 0.7, 0.82])
def test_a_slow_node_is_proven(share: float) -> None:
    found = judge(everyone(slow_nodes(n01=share)))
    assert [each.subject for each in found.suspects] == [("n01",)]


def test_losses_that_others_have_too_prove_nothing() -> None:
    noise = (0.80, 0.98, 0.88, 0.97, 0.92, 0.84, 0.99, 0.95, 0.83, 0.97, 0.85, 0.86)
    pairs = [(a, b) for a in "abcd" for b in "abcd" if a < b] * 2
    rows = [one(pair, share, number // 2) for number, (pair, share) in enumerate(zip(pairs, noise, strict=True))]
    assert judge(rows).suspects == ()


def test_nobody_healthy_is_accused() -> None:
    assert judge(everyone(healthy, nodes=NODES[:4], rounds=3)).suspects == ()


@pytest.mark.parametrize(("silent", "is_named"), [(2, False), (5, True), (8, True)])
def test_a_few_missing_results_prove_nothing(silent: int, is_named: bool) -> None:
    left = iter(range(8))
    rows = everyone(lambda pair: None if "n01" in pair and next(left) < silent else 1.0)
    assert (judge(rows).suspects != ()) == is_named


def test_a_link_that_twice_gave_no_result_is_not_named() -> None:
    rows = [*everyone(healthy, rounds=15), one(("n00", "n03"), None, 20), one(("n00", "n03"), None, 21)]
    assert judge(rows).suspects == ()


def test_noise_that_only_slows_is_no_fault_below_an_expected_bandwidth() -> None:
    rows = [
        one(each.members, 0.97, each.round, -abs(0.03 * (number % 7 - 3) / 3))
        for number, each in enumerate(everyone(healthy))
    ]
    assert judge(rows, expected_busbw_bytes_per_s=HEALTHY).suspects == ()


def test_a_class_with_nobody_else_in_it_proves_nothing() -> None:
    """n16 is alone on its leaf switch, so all pairs across leaves are its own."""
    topology = Topology(leaf_of=dict.fromkeys(NODES, "1") | {"n16": "2"})
    rows = [*everyone(healthy), *(one((name, "n16"), 0.8, 20 + number) for number, name in enumerate(NODES))]
    assert judge(rows, topology=topology).suspects == ()
