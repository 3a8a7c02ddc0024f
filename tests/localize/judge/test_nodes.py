"""Slow nodes."""

import pytest

from nccltool.localize.judge import judge
from tests.localize.judge.fabric import NODES, everyone, one, slow_nodes


@pytest.mark.parametrize("speed", [0.1, 0.5, 0.7, 0.85, None])
@pytest.mark.parametrize("bad", [("n03",), ("n03", "n04", "n05")])
def test_they_are_named_with_their_speed(speed: float | None, bad: tuple[str, ...]) -> None:
    found = judge(everyone(slow_nodes(**dict.fromkeys(bad, speed))))
    assert sorted(each.subject for each in found.suspects) == [(name,) for name in bad]
    for each in found.suspects:
        assert each.kind == "node"
        assert each.ratio == (None if speed is None else pytest.approx(speed, rel=0.05))


def test_nobody_is_named_for_one_slow_encounter() -> None:
    assert judge([*everyone(slow_nodes()), one(("n00", "x"), 0.5)]).suspects == ()


def test_a_node_whose_partners_never_came_is_not_named() -> None:
    rows = [*everyone(slow_nodes(), nodes=NODES[:8], rounds=7), one(("x", "y"), None, 1), one(("x", "z"), None, 2)]
    found = judge(rows)
    assert found.suspects == ()
    assert {name for pair in found.undetermined for name in pair} >= {"x"}


@pytest.mark.parametrize(("way", "direction"), [(0, "send"), (1, "receive")])
def test_one_direction(way: int, direction: str) -> None:
    rows = [
        one(members, 0.5 if members[way] == "n05" else 1.0, each.round, is_directed=True)
        for each in everyone(slow_nodes(), noise=0.01)
        for members in (each.members, each.members[::-1])
    ]
    found = judge(rows)
    assert [(each.subject, each.direction) for each in found.suspects] == [(("n05",), direction)]


def test_alone_nobody_else_can_be_the_reason() -> None:
    rows = [one((name,), 0.5 if name == "n02" else 1.0, number) for number in range(4) for name in NODES]
    assert [each.subject for each in judge(rows).suspects] == [("n02",)]
