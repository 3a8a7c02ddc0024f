"""What a launcher makes of a job: the commands to start, and what their ends mean."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nccltool.model import Finding

WORKER = ("-P", "-m", "nccltool.worker")
"""Arguments of Python. -P: a user's logging.py in the current folder must not be imported in place of Python's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A process to start here. Its standard input takes the job and later orders, its output are events."""

    argv: tuple[str, ...]
    nodes: tuple[int, ...]
    """The nodes whose events come out of it."""
    host: str = ""
    """The host that it reaches; empty = this host, or many."""


Explain = Callable[[str, int, Sequence[str]], Finding | None]
"""(host, exit code, last lines on standard error) of a command that ended before its nodes were done -> why."""


def unexplained(host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
    """Nothing is known about the ends of these commands."""
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """How the nodes of a job are started."""

    launcher: str
    """As in --launcher."""
    why: str
    """Why this one, as part of a sentence."""
    commands: tuple[Command, ...]
    remote: bool = False
    """The nodes are on other hosts: they meet before they start ranks, and end when they hear no more of us."""
    explain: Explain = unexplained
    ends_by_sigterm_s: float = 0.0
    """How long its commands may take to end their nodes after SIGTERM; 0 = killed at once."""
