"""Nodes that are slow together, behind something that nobody named."""

from nccltool.localize.judge import judge
from tests.localize.judge.fabric import NODES, everyone, one

LEAF = NODES[:5]


def behind(pair: tuple[str, ...]) -> float:
    """Five of sixteen nodes share a slow uplink."""
    return 0.5 if len({*pair} & {*LEAF}) == 1 else 1.0


def test_nodes_that_share_a_slow_uplink_are_a_group_and_none_is_slow() -> None:
    (found,) = judge(everyone(behind, rounds=15)).suspects
    assert (found.kind, found.subject) == ("group", LEAF)
    assert "fast with each other in 10 of 10 encounters" in found.evidence[0]


def test_slow_nodes_are_slow_with_each_other_too() -> None:
    found = judge(everyone(lambda pair: 0.5 if {*pair} & {*LEAF} else 1.0, rounds=15)).suspects
    assert {(each.kind, each.subject) for each in found} == {("node", (name,)) for name in LEAF}


def test_who_never_met_the_group_may_be_of_it() -> None:
    rows = [
        each for each in everyone(behind, rounds=15) if "n04" not in each.members or not {*each.members} <= {*LEAF}
    ]
    found = judge(rows)
    assert [each.subject for each in found.suspects] == [LEAF[:4]]
    assert ("n04", "n00") in [test.members for test in found.next_tests]
    told = judge([*rows, one(("n04", "n00"), 1.0, 20)])
    assert [each.subject for each in told.suspects] == [LEAF]


def test_groups_that_never_met_may_be_one() -> None:
    halves = (NODES[:3], NODES[3:6])

    def speed(pair: tuple[str, ...]) -> float:
        return 0.5 if len({*pair} & {*NODES[:6]}) == 1 else 1.0

    rows = [
        each
        for each in everyone(speed, rounds=15)
        if len({*each.members} & {*NODES[:6]}) < 2 or any({*each.members} <= {*half} for half in halves)
    ]
    found = judge(rows)
    assert {each.subject for each in found.suspects} == {*halves}
    assert [test.members for test in found.next_tests][:1] == [("n03", "n00")]
    assert [each.subject for each in judge([*rows, one(("n03", "n00"), 1.0, 20)]).suspects] == [NODES[:6]]
