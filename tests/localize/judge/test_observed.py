"""Encounters as arrays."""

import math

import pytest

from nccltool.localize.judge import observed
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import one


@pytest.mark.parametrize(
    ("value", "is_one"),
    [(None, False), (0.0, False), (math.nan, False), (math.inf, False), (-1.0, False), (1e9, True)],
)
def test_what_a_bandwidth_is(value: float | None, is_one: bool) -> None:
    assert observed.is_number(value) == is_one


def test_the_order_does_not_matter() -> None:
    rows = [one("ab", 0.5), one("cd"), one("ef", None)]
    there, back = (observed.observe(each, Topology()) for each in (rows, rows[::-1]))
    assert there.encounters == back.encounters
    assert there.has_number.tolist() == [False, True, True]
    assert there.nodes == tuple("abcdef")


def test_encounters_across_leaf_switches_are_compared_with_each_other() -> None:
    topology = Topology(leaf_of={"a": "1", "b": "1", "c": "2", "d": "2"})
    found = observed.observe([*[one("ab")] * 4, *[one("ac", 0.5)] * 4], topology)
    assert found.classes == 2


def test_a_few_of_a_kind_are_compared_with_all() -> None:
    found = observed.observe([*[one("ab")] * 9, one("ac", is_directed=True)], Topology())
    assert found.classes == 1
