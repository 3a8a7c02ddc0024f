"""What a launcher makes of a job: the commands to start, and what their ends mean."""

import enum
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, FindingKind
from nccltool.launch.job import Job, node_name
from nccltool.launch.options import StartOptions

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


Unwrap = Callable[[bytes], tuple[bytes, ...]]
"""A line of a command's standard output -> the lines that its nodes wrote, as far as they are complete."""


@dataclass(frozen=True, slots=True)
class EndCause:
    """Why commands end: how it is known, and what to tell of it."""

    pattern: str
    kind: FindingKind
    what: str
    remedy: str


def last_said(lines: Sequence[str]) -> tuple[str, ...]:
    """The evidence for why a command ended: the last lines that it said."""
    return tuple(line.strip()[:300] for line in lines if line.strip())[-4:]


class EndWord(enum.Enum):
    """What a line on standard error says about the end of a command's nodes, while the command still runs."""

    HAPPENS = enum.auto()
    """They are being ended. The reason takes another path, and may come later."""
    REASON = enum.auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulerQuery:
    """A short command to ask, after a signal or an end without a reason, whether a scheduler caused it."""

    argv: tuple[str, ...]
    read: Callable[[str], Finding | None]
    """What it says on standard output -> why we are ended, or None."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeCommands:
    """How the nodes of a job are started."""

    launcher: str
    """As in --launcher."""
    why: str
    """Why this one, as part of a sentence."""
    commands: tuple[Command, ...]
    remote: bool = False
    """The nodes are on other hosts: they meet before they start ranks, and end when they hear no more of us."""
    explain: Callable[[str, int, Sequence[str]], Finding | None] = lambda host, exit_code, lines: None
    """Why a command ended before its nodes were done, by its last lines on standard error."""
    is_broken: Callable[[int, Sequence[str]], bool] = lambda exit_code, lines: False
    """Whether a command ended because its connection to another host broke, at whichever end."""
    end_word: Callable[[str], EndWord | None] = lambda line: None
    """What a line on standard error says about the end of a command's nodes."""
    scheduler_query: SchedulerQuery | None = None
    unwrapper: Callable[[], Unwrap] | None = None
    """Makes what reads the output of one command, where lines of its nodes come wrapped."""
    hosts: tuple[str, ...] = ()
    """The host of each node, where commands reach many; empty = as the commands say."""
    is_hurried: bool = False
    """What started us kills us a second after SIGTERM, if not earlier: a result must be shown by then."""
    ends_by_sigterm_s: float = 0.0
    """How long its commands may take to end their nodes after SIGTERM; 0 = killed at once."""
    starts_s: float = 0.0
    """How long what carries the nodes may take to start them; they have the usual time to speak on top of it."""

    def jobs(self, job: Job) -> tuple[Job, ...]:
        """The job as each command is given it."""
        if not self.remote:
            return (job,) * len(self.commands)
        return tuple(replace(job, remote=True, node_ranks=command.nodes) for command in self.commands)

    def names(self) -> dict[int, str]:
        """The host of each node; '' = not known before it speaks."""
        named = dict(enumerate(self.hosts))
        return named or {node: command.host for command in self.commands for node in command.nodes}

    def shown_names(self) -> dict[int, str]:
        """A name for each node, in their order."""
        return {node: host or node_name(node) for node, host in sorted(self.names().items())}


def worker_here(node_ranks: tuple[int, ...], why: str) -> NodeCommands:
    """One process imports torch and forks an agent for each of its nodes, or a supervisor inside a started job.

    The job goes in on standard input: nothing to quote, nothing for `ps` to show.
    """
    command = Command(argv=(sys.executable, *WORKER), nodes=node_ranks)
    return NodeCommands(launcher="local", why=why, commands=(command,))


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchPlan:
    """Where the ranks of a job run, and how they get there."""

    nodes: int | None
    nproc: int | None
    node_ranks: tuple[int, ...]
    launch: NodeCommands
    emulated: bool = False
    leads: bool = True
    ranks_seen: int = 0
    part: int = 0
    """Our rank in a launcher's job."""
    node_variable: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    """Each node as --hosts names it; () = hosts are not named."""
    on_gpus: bool | None = None
    """Whether NCCL would take the ranks of this host on its GPUs; None = other hosts have other devices."""

    @property
    def ranks(self) -> int | None:
        """Of all nodes; None = not known before they have met."""
        return (self.nodes or 1) * self.nproc if self.nproc else None


_COUNT = re.compile(r"(\d{1,6})(?:\(x(\d{1,6})\))?", re.ASCII)
MOST_NODES = 100_000
"""More is a damaged variable."""


def expand_counts(text: str) -> tuple[int, ...] | None:
    """A count for each node of Slurm's 2(x3),1 -> 2, 2, 2, 1; None when it is none."""
    matches = [_COUNT.fullmatch(word) for word in text.split(",")]
    if not all(matches) or sum(int(match[2] or 1) for match in matches if match) > MOST_NODES:
        return None
    return tuple(int(match[1]) for match in matches if match for _ in range(int(match[2] or 1)))


@dataclass(frozen=True, kw_only=True, slots=True)
class LauncherTraits:
    """What must be known of a launcher before it is asked."""

    order: int = 0
    """Launchers are asked in this order, until one starts the nodes."""
    takes_hosts: bool = False
    """It knows what to do with --hosts."""
    needs_hosts: bool = False
    instead: str = ""
    """How to start a job there, where it cannot be done from here; then it has no `start`."""


@dataclass(frozen=True, slots=True)
class NotChosen:
    """A launcher leaves the nodes to the next one."""

    why: str = ""
    """Said where it was called for, and is not needed."""
    refusal: BadInput | None = None
    """Why it cannot be used though we are in a job of its scheduler: this host alone is not what was meant."""


class Launcher(Protocol):
    """A module of this folder; its name is a word of --launcher."""

    TRAITS: LauncherTraits

    def start(self, options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
        """How it starts the nodes, if options and environment call for it. Raises BadInput."""


@dataclass(frozen=True, slots=True)
class GuardedLauncher:
    """A launcher whose `start` is another function than that of its module."""

    TRAITS: LauncherTraits
    start: Callable[[StartOptions, Mapping[str, str]], LaunchPlan | NotChosen]


ALONE = "to measure this host alone, use --launcher local"


def refused(error: BadInput) -> NotChosen:
    """A job cannot be used: another launcher may start the nodes, but not this host alone."""
    return NotChosen(refusal=BadInput(error.message, f"{error.remedy}; {ALONE}"))


_MOST_DIGITS = 4
"""Of a number of ranks: no host has more GPUs or cores than that."""


def asked_nproc(options: StartOptions) -> int | None:
    """Ranks on a node, where a number is given. Raises BadInput."""
    text = options.nproc_per_node
    if text is None or text == "auto":
        return None
    if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) < 1:
        raise BadInput(
            f"--nproc-per-node {text[:20]!r} is not a number of ranks",
            "use --nproc-per-node 8 or --nproc-per-node auto",
        )
    return int(text)
