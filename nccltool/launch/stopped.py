"""Processes of a run that something has stopped (SIGSTOP, Ctrl-Z): they exist, do nothing, and cannot say so.

Of a rank its supervisor says it, and so it does of the watchdog of a remote host. This looks at those between: the
node process, its agents and their supervisors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from nccltool.core import processes

LOOK_S = 1.0
"""As often as a supervisor looks at its rank."""
MOST = 16
"""In one event; each is some 80 bytes."""
Role = Literal["node process", "agent", "supervisor", "connection", "watchdog"]
"""connection: the command of this host that reaches another one, such as ssh. watchdog: what it starts there."""
COUNTING = "nccltool-counts"
"""The name of the process beside the agents that counts what the network loses: no rank waits for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoppedProcess:
    """One of them."""

    pid: int
    role: Role
    below: tuple[int, ...] = ()
    """Its children: of a supervisor, the rank."""
    towards: str = ""
    """The host that a connection leads to."""


def of_node(root: int, has_agents: bool) -> tuple[StoppedProcess, ...]:
    """Those of a node process and below it, down to the supervisors, also where it has no agents."""
    agents: tuple[Role, ...] = ("agent",) if has_agents else ()
    return tuple(_below((root,), ("node process", *agents, "supervisor")))[:MOST]


def of_connection(pid: int, towards: str) -> tuple[StoppedProcess, ...]:
    """The command itself; what is below it is on another host."""
    return tuple(replace(one, towards=towards) for one in _below((pid,), ("connection",)))


def of_watchdog(pid: int) -> tuple[StoppedProcess, ...]:
    """The parent of a remote node process, which passes on what the runner says; it cannot say so itself."""
    return tuple(_below((pid,), ("watchdog",)))


def _below(pids: tuple[int, ...], roles: tuple[Role, ...]) -> Iterator[StoppedProcess]:
    for pid in pids:
        below = tuple(sorted(one for one in processes.children(pid) if processes.name(one) != COUNTING))
        if processes.state(pid) in processes.STOPPED:
            yield StoppedProcess(pid=pid, role=roles[0], below=below[:MOST])
        if roles[1:]:
            yield from _below(below, roles[1:])


class Watch:
    """Looks every second, and says what has changed."""

    def __init__(self, look: Callable[[], tuple[StoppedProcess, ...]]) -> None:
        self._look, self._seen, self._next = look, tuple[StoppedProcess, ...](), 0.0

    def changed(self, now: float) -> tuple[StoppedProcess, ...] | None:
        """Those that are stopped now, where they are others than before."""
        if now < self._next:
            return None
        self._next, before, self._seen = now + LOOK_S, self._seen, self._look()
        return self._seen if self._seen != before else None


def watch(pid: int, towards: str, has_agents: bool) -> Watch:
    """Of a command of this host; `towards`: the host that it leads to, if to another one."""
    return Watch(partial(of_connection, pid, towards) if towards else partial(of_node, pid, has_agents))
