"""Slow links."""

import random
from collections.abc import Callable

import pytest

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import judge
from tests.localize.judge.fabric import NODES, everyone, healthy, one


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


def of_rails(speed: Callable[[tuple[str, ...], str], float]) -> list[Encounter]:
    """All pairs of eight nodes on four rails."""
    noise = random.Random(3)
    return [
        one(each.members, speed(each.members, rail), each.round, noise.gauss(0, 0.02), rail=rail)
        for each in everyone(healthy, rounds=7, nodes=NODES[:8])
        for rail in ("r0", "r1", "r2", "r3")
    ]


@pytest.mark.parametrize("rails", [("r0", "r1", "r2", "r3"), ("r2",)])
def test_a_link_is_slow_on_all_rails_or_on_one(rails: tuple[str, ...]) -> None:
    rows = of_rails(lambda pair, rail: 0.5 if {*pair} == {"n00", "n03"} and rail in rails else 1.0)
    rows += [one(("n00", "n03"), 0.5, number, rail=rail) for rail in rails for number in (20, 21, 22)]
    (found,) = judge(rows).suspects
    assert (found.kind, found.subject) == ("link", ("n00", "n03"))
    assert found.evidence[0].startswith("rail r2: ") == (len(rails) == 1)


def test_a_link_and_a_rail_of_one_of_its_ends_are_not_a_slow_node() -> None:
    rows = of_rails(
        lambda pair, rail: 0.5 if {*pair} == {"n00", "n03"} or ("n00" in pair and rail == "r1") else 1.0
    )
    kinds = {(each.kind, each.subject) for each in judge(rows).suspects}
    assert kinds == {("link", ("n00", "n03")), ("rail", ("n00", "r1"))}
