"""Whom the hosts of a run that stands still are told to call again, and when all has been heard."""

import pytest

from nccltool.launch import events, path_check
from nccltool.launch.events import HalfOpen, Node, Reached
from nccltool.launch.path_check import PathCheck


def node(number: int, host_id: str = "") -> Node:
    return Node(
        node=number,
        host=f"h{number}",
        host_id=host_id or f"id{number}",
        nccltool="0.1.0",
        gpus=0,
        addresses=(f"10.0.0.{number}",),
        port=1,
        data_port=100 + number,
    )


def reached(caller: int, goal: int, *addresses: str) -> Reached:
    return Reached(node=caller, goal=goal, port=100 + goal, addresses=addresses, failures=())


def check(nodes: list[Node], *before: Reached) -> PathCheck | None:
    answers = {(one.node, one.goal, one.port): one for one in before}
    return path_check.of({one.node: one for one in nodes}, {one.node: one.host for one in nodes}, answers, 100.0)


def test_each_calls_each_at_addresses_that_worked() -> None:
    found = check(
        [node(0), node(1), node(2)],
        reached(0, 1, "10.0.0.1", "10.1.0.1"),
        reached(2, 1, "10.0.0.1"),
        reached(1, 2, "10.0.0.2"),
        reached(1, 0, "10.0.0.0"),
    )
    assert found is not None
    asked = {n: [(goal.node, goal.port, goal.addresses) for goal in goals] for n, goals in found.ask.goals.items()}
    assert asked == {
        0: [(1, 101, ("10.0.0.1", "10.1.0.1")), (2, 102, ("10.0.0.2",))],
        1: [(2, 102, ("10.0.0.2",)), (0, 100, ("10.0.0.0",))],
        2: [(0, 100, ("10.0.0.0",)), (1, 101, ("10.0.0.1",))],
    }


def test_an_address_that_not_all_reached_is_not_asked_of_others() -> None:
    found = check([node(0), node(1), node(2)], reached(0, 1, "10.1.0.1", "10.0.0.1"), reached(3, 1, "10.0.0.1"))
    assert found is not None
    assert [goal.addresses for goal in found.ask.goals[2]] == [("10.0.0.1",)]


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param([node(0)], id="one host"),
        pytest.param([node(0, "same"), node(1, "same")], id="one host, twice"),
    ],
)
def test_without_a_path_nobody_is_asked(nodes: list[Node]) -> None:
    assert check(nodes, reached(0, 1, "10.0.0.1"), reached(1, 0, "10.0.0.0")) is None


def test_many_hosts_call_few_and_each_pair_both_ways() -> None:
    nodes = [node(number) for number in range(100)]
    found = check(nodes, *(reached((n + 1) % 100, n, f"10.0.0.{n}") for n in range(100)))
    assert found is not None
    calls = {(n, goal.node) for n, goals in found.ask.goals.items() for goal in goals}
    assert len(calls) <= 100 * 14
    assert all((b, a) in calls for a, b in calls)


def test_it_is_done_when_all_have_told_or_the_time_is_up() -> None:
    found = check([node(0), node(1)], reached(0, 1, "10.0.0.1"), reached(1, 0, "10.0.0.0"))
    assert found is not None
    heard: list[events.Reached | events.HalfOpen] = [
        reached(0, 1, "10.0.0.1"),
        reached(1, 0, "10.0.0.0"),
        HalfOpen(node=0, callers=()),
        HalfOpen(node=1, callers=()),
    ]
    for event in heard:
        assert not found.is_done(100.0 + path_check.ANSWERS_S)
        found.hear(event)
    assert found.is_done(100.0)
    assert found.found.findings == ()
    late = check([node(0), node(1)], reached(0, 1, "10.0.0.1"), reached(1, 0, "10.0.0.0"))
    assert late is not None
    assert late.is_done(100.1 + path_check.ANSWERS_S)
