"""Calls between nodes that failed, and the node that most of them lead to or come from. Pure.

Where a firewall is on every host, tens of thousands fail: each is looked at once, and not once for each host.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence

from nccltool.launch import events
from nccltool.launch.instructions import Goal

FailedCall = tuple[int, Goal, events.Reached]
"""The node that called, whom, and what came of it."""


class FailedCalls:
    """Calls that failed and are explained by no node yet."""

    def __init__(self, calls: Sequence[FailedCall]) -> None:
        self._left = dict(enumerate(calls))
        self._of: dict[int, list[int]] = defaultdict(list)
        """Calls of each node, in their order: those that it made and those that it got."""
        self._into: Counter[int] = Counter()
        self._count: Counter[int] = Counter()
        for number, (node, goal, _) in self._left.items():
            self._into[goal.node] += 1
            for either in {node, goal.node}:
                self._of[either].append(number)
                self._count[either] += 1
        self._heap = [self._rank(node) for node in self._count]
        heapq.heapify(self._heap)

    def _rank(self, node: int) -> tuple[int, int, int]:
        """The worst is the least: most calls, most of them into it, the lowest number."""
        return (-self._count[node], -self._into[node], node)

    def worst(self) -> int | None:
        """The node of most of the calls; None when none is left."""
        while self._heap:
            entry = self._heap[0]
            node = entry[-1]
            if entry == (now := self._rank(node)):
                return node if self._count[node] else None
            heapq.heapreplace(self._heap, now)
        return None

    def take(self, node: int) -> list[FailedCall]:
        """The calls of this node, which explains them."""
        taken = [self._left.pop(number) for number in self._of[node] if number in self._left]
        for caller, goal, _ in taken:
            self._into[goal.node] -= 1
            for either in {caller, goal.node}:
                self._count[either] -= 1
        return taken
