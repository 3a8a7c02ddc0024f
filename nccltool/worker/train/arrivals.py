"""Who comes late to the collectives of a step: ranks meet once in each of some more steps, and time their waits.

They meet between the forward and the backward pass, behind their own work and before gradients travel. That a rank
comes late there says nothing of how fast its data travel. Stages of a pipeline wait for each other by nature, and
never stand there all at once: of these, nobody is said to be late.
"""

import time
from collections import Counter
from collections.abc import Callable

from nccltool.probe import late_rank
from nccltool.probe.late_rank import RankLateness
from nccltool.worker.agreement import Agreement

BETWEEN_PASSES = "between forward and backward"
COMPUTING = "computing a micro-batch"
_LEAST_ROUNDS = 8
"""Fewer are too few to tell a late rank from chance: of two, one is last in 7 of 8 or more by chance in 3.5 % of
cases, and must be late by a millisecond too."""
MOST_ROUNDS = 25
_QUICK_NS = 2_000_000_000
"""What all of these may take where they are more than steps that are timed: noise counts less in more of them."""


class Arrivals:
    """Of one rank."""

    def __init__(self, group: Agreement) -> None:
        self.waits_ns: list[int] = []
        self._group, self._counting = group, True
        self._seen: Counter[str] = Counter()

    def at(self, phase: str) -> None:
        """This rank has come to a phase."""
        if self._counting:
            self._seen[phase] += 1
            return
        begin = time.perf_counter_ns()
        self._group.meet()
        self.waits_ns.append(time.perf_counter_ns() - begin)

    def can_meet(self) -> bool:
        """Whether all ranks came between the passes once in the step before, and to no micro-batch of a pipeline:
        else some would wait for others that wait for them. From here on they meet."""
        self._counting = False
        once = [self._seen[BETWEEN_PASSES], self._seen[COMPUTING]] == [1, 0]
        return not self._group.maximum([not once])[0]


def came_late(
    group: Agreement,
    steps: int,
    step_ns: int,
    step: Callable[[], None],
    put: Callable[[Arrivals | None], None],
) -> tuple[RankLateness, ...] | None:
    """The ranks that came late in some more steps; None = they cannot be told. `steps` were timed, and took
    `step_ns` each, both the same on all ranks. `put` has the strategy call on the arrivals."""
    if group.size < 2 or steps < _LEAST_ROUNDS:
        return None
    rounds = min(max(min(steps, late_rank.ROUNDS), _QUICK_NS // max(step_ns, 1)), MOST_ROUNDS)
    arrivals = Arrivals(group)
    put(arrivals)
    step()
    found = None
    if arrivals.can_meet():
        for _ in range(rounds):
            step()
        found = late_rank.in_row(group.everybodys(arrivals.waits_ns))
    put(None)
    return found
