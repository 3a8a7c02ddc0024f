"""What only shows together."""

from nccltool.localize.judge import judge
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import NODES, everyone, healthy, one

GROUP = ("n00", "n05", "n09")
LEAVES = Topology(leaf_of={name: f"leaf{number // 4}" for number, name in enumerate(NODES)})


def test_a_group_that_is_slow_while_all_pairs_are_fast() -> None:
    once = judge([*everyone(healthy), one(GROUP, 0.3, 20)])
    assert once.suspects == ()
    assert once.undetermined == (GROUP,)
    assert GROUP in {test.members for test in once.next_tests}
    often = judge([*everyone(healthy), *[one(GROUP, 0.3, number) for number in (20, 21, 22)]])
    assert [(each.kind, each.subject) for each in often.suspects] == [("group", GROUP)]


def test_the_uplink_of_a_leaf_switch() -> None:
    def speed(pair: tuple[str, ...]) -> float:
        return (
            0.5
            if len({LEAVES.leaf(name) for name in pair} - {"leaf1"})
            < len({LEAVES.leaf(name) for name in pair})
            > 1
            else 1.0
        )

    found = judge(everyone(speed, rounds=15), topology=LEAVES)
    assert [(each.kind, each.subject) for each in found.suspects] == [("group", NODES[4:8])]
    assert "leaf1" in found.suspects[0].evidence[0]


def test_slower_across_all_leaf_switches_is_no_fault() -> None:
    rows = everyone(lambda pair: 0.7 if len({LEAVES.leaf(name) for name in pair}) > 1 else 1.0, rounds=15)
    assert judge(rows, topology=LEAVES).scope == "nothing-slow"
