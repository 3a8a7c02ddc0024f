"""How long to wait for the node processes of other hosts before they speak.

A busy machine is no fault of a host: what others took, and signs that a host gets on, move its deadline.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

COME_S = 15.0
"""In which a node process must speak: ssh gives up on a host after 7 s, and Python starts in one or two."""
COME_EACH_S = 0.1
"""What each host adds where there are many: an ssh took 0.075 s of a processor here (OpenSSH 9.2, ed25519)."""
COME_MOST_S = 120.0
"""In which one must speak that shows signs of getting on; without any for COME_S, it hangs."""
TIMES_OTHERS = 5.0
"""On a busy host, who has not come after this many times what the slowest of the others took will not come."""
SLOWEST = 4.0
"""A host whose load is higher is not waited for any longer."""


def slowness() -> float:
    """How many times longer than usual things may take because this host is busy: 1 to SLOWEST."""
    try:
        return slowness_of(os.getloadavg()[0], len(os.sched_getaffinity(0)))
    except OSError:
        return 1.0


def slowness_of(load: float, processors: int) -> float:
    """From the processes that run or want to, over the last minute."""
    return min(max(load / max(processors, 1), 1.0), SLOWEST)


@dataclass(slots=True)
class ExpectedHosts:
    """Who may still come. Has no clock of its own."""

    hosts: int
    begin: float
    starts_s: float = 0.0
    """How long the nodes may take to be started."""
    slowness: Callable[[], float] = lambda: 1.0
    _came: int = 0
    _last_s: float = 0.0
    """How long the slowest of those that came took."""
    _slowness: float = 1.0
    """The highest."""
    _signs: dict[int, float] = field(default_factory=dict)
    """When a node process that has not come last showed that it gets on."""

    def note_start(self, nodes: Sequence[int], now: float) -> None:
        """A command that starts these gets on."""
        self._signs.update(dict.fromkeys(nodes, now))

    def look(self, came: int, now: float) -> None:
        """So many have come by now."""
        self._slowness = max(self._slowness, self.slowness())
        if came > self._came:
            self._came, self._last_s = came, now - self.begin

    def stretched(self, seconds: float) -> float:
        """A time, as long as it may take on this host."""
        return seconds * self._slowness

    def patience_s(self) -> float:
        """How long one may say nothing at all. Where others came soon, who has not come does not come."""
        factor = self._slowness
        if self._came:
            factor = min(max(TIMES_OTHERS * self._last_s / COME_S, 1.0), factor)
        return self.starts_s + max(COME_S, COME_EACH_S * self.hosts) * factor

    def is_coming(self, node: int, now: float) -> bool:
        """Whether its Python got on a moment ago."""
        at = self._signs.get(node)
        return at is not None and now - at < COME_S and now - self.begin < self.starts_s + COME_MOST_S

    def why(self, node: int, now: float) -> str:
        """What is wrong with one that has not come, after its name."""
        at = self._signs.get(node)
        if at is None:
            return sent_nothing(now - self.begin)
        if now - at < COME_S:
            return f"was still importing Python modules after {COME_MOST_S:.0f} s"
        return f"began to start, and its Python got no further for {now - at:.0f} s, perhaps on a file system"


def sent_nothing(seconds: float) -> str:
    """After its name."""
    return f"sent nothing for {seconds:.0f} s: its login or its Python hangs, perhaps on a file system"
