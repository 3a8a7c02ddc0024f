"""Slow links."""

import pytest

from nccltool.localize.judge import judge
from tests.localize.judge.fabric import everyone, healthy, one


def test_a_link_between_good_nodes_is_named_after_repeats() -> None:
    rows = everyone(lambda pair: 0.5 if {*pair} == {"n00", "n03"} else 1.0, rounds=15)
    first = judge(rows)
    assert first.suspects == ()
    assert first.undetermined == (("n00", "n03"),)
    assert ("n00", "n03") in {test.members for test in first.next_tests}
    again = judge([*rows, one(("n00", "n03"), 0.5, 20), one(("n00", "n03"), 0.5, 21)])
    assert [(each.kind, each.subject) for each in again.suspects] == [("link", ("n00", "n03"))]


@pytest.mark.parametrize("sender", ["n00", "n03"])
def test_one_direction_names_the_sender_first(sender: str) -> None:
    other = {"n00": "n03", "n03": "n00"}[sender]
    rows = [
        one(members, 0.5 if members == (sender, other) else 1.0, each.round, is_directed=True)
        for each in everyone(healthy, rounds=15)
        for members in (each.members, each.members[::-1])
    ]
    rows += [one((sender, other), 0.5, number, is_directed=True) for number in (20, 21, 22)]
    rows += [one((other, sender), 1.0, number, is_directed=True) for number in (20, 21, 22)]
    found = judge(rows)
    assert [(each.kind, each.subject, each.direction) for each in found.suspects] == [
        ("link", (sender, other), "send")
    ]
