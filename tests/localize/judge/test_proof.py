"""Noise that makes only slower accuses nobody."""

import pytest

from nccltool.localize.judge import judge
from tests.localize.judge.fabric import NODES, everyone, healthy, one, slow_nodes


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
