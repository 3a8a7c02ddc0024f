"""Calls between nodes that failed: whom they name, in time that grows with their number only."""

import time

from nccltool.launch import events
from nccltool.launch.failed_calls import FailedCall, FailedCalls
from nccltool.launch.instructions import Goal


def call(node: int, to: int) -> FailedCall:
    answer = events.Reached(node=node, goal=to, port=1, addresses=(), failures=("10.0.0.1: refused",))
    return node, Goal(node=to, port=1, addresses=("10.0.0.1",)), answer


def named(calls: list[FailedCall]) -> list[tuple[int, int]]:
    """Each node that is named, and how many calls it explains."""
    failed, found = FailedCalls(calls), []
    while (worst := failed.worst()) is not None:
        found.append((worst, len(failed.take(worst))))
    return found


def test_the_node_that_most_calls_lead_to_or_come_from_explains_them() -> None:
    assert named([]) == []
    assert named([call(0, 3), call(1, 3), call(3, 2)]) == [(3, 3)]
    assert named([call(0, 1), call(2, 1), call(4, 5), call(1, 4)]) == [(1, 3), (5, 1)]


def test_of_two_alike_it_is_the_one_that_is_called_and_then_the_first() -> None:
    assert named([call(1, 0)]) == [(0, 1)]
    assert named([call(0, 1), call(2, 3)]) == [(1, 1), (3, 1)]


def test_a_firewall_on_each_of_ten_thousand_hosts() -> None:
    hosts = 10_000
    calls = [call(node, (node + 2**step) % hosts) for node in range(hosts) for step in range(14)]
    begin = time.process_time()
    found = named(calls)
    assert sum(count for _, count in found) == len(calls)
    assert time.process_time() - begin < 10  # 1.0 s here; a look at each call for each host took minutes
