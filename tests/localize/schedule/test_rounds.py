"""Rounds in which everyone meets someone new."""

import pytest

from nccltool.localize.schedule import rounds
from nccltool.localize.topology import Topology

NAMES = tuple(f"n{number:02}" for number in range(13))
LEAVES = Topology(leaf_of={name: f"leaf{number // 4}" for number, name in enumerate(NAMES)})


@pytest.mark.parametrize("topology", [Topology(), LEAVES], ids=["unknown", "leaves"])
@pytest.mark.parametrize("number", range(6))
def test_nobody_meets_two_at_once(topology: Topology, number: int) -> None:
    pairs = rounds.of_pairs(NAMES, number, topology, set(), 3)
    names = [name for pair in pairs for name in pair]
    assert len(names) == len({*names}) == len(NAMES) - 1


@pytest.mark.parametrize("number", range(4))
def test_leaf_switches_are_crossed_by_turns(number: int) -> None:
    pairs = rounds.of_pairs(NAMES[:12], number, LEAVES, set(), 3)
    assert {LEAVES.is_across(*pair) for pair in pairs} == {number % 2 == 0}


@pytest.mark.parametrize(("size", "sizes"), [(3, [3, 3, 3, 4]), (4, [4, 4, 5]), (5, [5, 5, 3]), (20, [13])])
def test_groups(size: int, sizes: list[int]) -> None:
    groups = rounds.of_groups(NAMES, size, 0, 3)
    assert [len(each) for each in groups] == sizes
    assert sorted(name for each in groups for name in each) == [*NAMES]


def test_of_four_nodes_each_sits_out_some_group_of_three() -> None:
    found = [rounds.of_groups(NAMES[:4], 3, number, 3) for number in range(12)]
    assert all(len(groups) == 1 and len(groups[0]) == 3 for groups in found)
    assert len({frozenset(groups[0]) for groups in found}) == 4


def test_the_same_seed_gives_the_same_order() -> None:
    assert rounds.shuffled(NAMES, 1) == rounds.shuffled(NAMES[::-1], 1) != rounds.shuffled(NAMES, 2)
