"""Which ranks arrive late at the collectives of a step: in some steps, ranks synchronize and time their waits.

They begin a step together, and time how long they wait for each other between the forward and the backward pass:
behind their own work and before gradients travel. Over a slow link, one rank may get the gradients last in each
step; without the common beginning it was named. That a rank comes late says nothing of how fast its data travel.
Stages of a pipeline wait for each other by nature, and never stand there all at once: of these, nobody is said to
be late.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from nccltool.core import processes
from nccltool.probe import late_rank
from nccltool.probe.late_rank import RankLateness
from nccltool.worker.agreement import Agreement

BETWEEN_PASSES = "between forward and backward"
COMPUTING = "computing a micro-batch"
_PARTS = 3
"""Parts in each of which a rank must be late. Beside busy loops on a machine with two cores, one of two equal
ranks came late for 0.5 s on end, some 15 steps, and then the other one did."""
_LONG_NS = 5_000_000_000
"""If all parts took longer than this, they are made shorter."""
_SHORT = 5
"""Steps of a part then, and of the first look at who is late."""

CoreTime = tuple[int, int, int, int]
"""ns that some steps took, that this thread ran, that it waited for a core, and that the communication thread that
waited longest did so; -1 = the kernel does not tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lateness:
    """In steps in which ranks synchronized."""

    ranks: tuple[RankLateness, ...]
    """The latest first."""
    core_time: CoreTime
    """Of this rank."""


class CoreClock:
    """How the kernel scheduled this thread, and those that move data for it."""

    def __init__(self) -> None:
        self._mine = threading.get_native_id()
        self._begin, self._before = time.perf_counter_ns(), _scheduled()

    def read(self) -> CoreTime:
        """Since it was made."""
        after, took = _scheduled(), time.perf_counter_ns() - self._begin
        if self._mine not in self._before or self._mine not in after:
            return took, -1, -1, -1
        grown = {
            one: [end - begin for begin, end in zip(self._before.get(one, (0, 0)), now, strict=True)]
            for one, now in after.items()
        }
        ran, queued = grown.pop(self._mine)
        python = {one.native_id for one in threading.enumerate()}
        moving = [more for one, (_, more) in grown.items() if one not in python]
        return took, ran, queued, max(moving, default=0)


def _scheduled() -> dict[int, tuple[int, int]]:
    """Of each thread of this process, as the kernel counts."""
    pid = os.getpid()
    found = {thread: processes.scheduled_ns(pid, thread) for thread in processes.threads(pid)}
    return {thread: known for thread, known in found.items() if known is not None}


class Arrivals:
    """Of one rank."""

    def __init__(self, group: Agreement) -> None:
        self.waits_ns: list[int] = []
        self.group, self._counting = group, True
        self._seen: Counter[str] = Counter()

    def at(self, phase: str) -> None:
        """This rank has come to a phase."""
        if self._counting:
            self._seen[phase] += 1
            return
        begin = time.perf_counter_ns()
        self.group.meet()
        self.waits_ns.append(time.perf_counter_ns() - begin)

    def can_meet(self) -> bool:
        """Whether all ranks came between the passes once in the step before, and to no micro-batch of a pipeline:
        else some would wait for others that wait for them. From here on they meet."""
        self._counting = False
        once = [self._seen[BETWEEN_PASSES], self._seen[COMPUTING]] == [1, 0]
        return not self.group.maximum([not once])[0]


def came_late(
    counted: Arrivals, step_ns: int, step: Callable[[], object], put: Callable[[Arrivals | None], None]
) -> Lateness | None:
    """The ranks that arrive late in some steps; None = not known. `counted`: arrivals of one step before them.
    `step_ns`: how long a step takes, the same on all ranks. `put` gives the arrivals to the strategy."""
    found, group = None, counted.group
    rounds = late_rank.ROUNDS if _PARTS * late_rank.ROUNDS * step_ns <= _LONG_NS else _SHORT
    if group.size > 1 and counted.can_meet():
        clock = CoreClock()
        late = _late_throughout(group, rounds, step, counted)
        found = Lateness(ranks=late, core_time=clock.read())
    put(None)
    return found


def _late_throughout(
    group: Agreement, rounds: int, step: Callable[[], object], arrivals: Arrivals
) -> tuple[RankLateness, ...]:
    """Stops once no rank was late in each part so far, because none would be named. A rank that is late in four of
    five steps passes the first look in 94 % of the cases (binomial, 3 of 5)."""
    waits: list[list[int]] = [[] for _ in range(group.size)]
    left = set(range(group.size))
    for look in dict.fromkeys((_SHORT, *(rounds * part for part in range(1, _PARTS + 1)))):
        more = look - len(arrivals.waits_ns)
        for _ in range(more):
            group.meet()
            step()
        for mine, latest in zip(waits, group.everybodys(arrivals.waits_ns[-more:]), strict=True):
            mine.extend(latest)
        begin = (look - 1) // rounds * rounds
        part = late_rank.in_row([mine[begin:] for mine in waits], late_rank.LAST_IN_SHARE_OF_PART)
        left &= {one.rank for one in part}
        if not left:
            return ()
    return late_rank.throughout(waits, _PARTS)
