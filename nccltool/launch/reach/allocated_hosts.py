"""The hosts that a scheduler gave to the job that we are in, where one command for each host starts its node."""

import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, Subject
from nccltool.core.text import listed
from nccltool.launch import finding_kinds, inside
from nccltool.launch.launchers.base import (
    WORKER,
    Command,
    EndCause,
    LaunchPlan,
    NodeCommands,
    NotChosen,
    asked_nproc,
    last_said,
    refused,
)
from nccltool.launch.named_hosts import named_hosts, parse_hosts
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import far_ends
from nccltool.launch.remote_variables import forwarded


@dataclass(frozen=True, kw_only=True, slots=True)
class AllocatedHosts:
    """What the scheduler says of the job that we are in."""

    scheduler: str
    """As people write it: PBS."""
    launcher: str
    """As in --launcher."""
    job_id: str
    hosts: tuple[str, ...]
    """Each once, in the scheduler's order."""
    slots: tuple[int, ...] = ()
    """The processes that the user asked for on each host; () = the scheduler counts something else."""

    @property
    def job(self) -> str:
        """The job, as part of a sentence."""
        return f"{self.scheduler} job {self.job_id}"


def distinct(words: Sequence[str], where: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Hosts that are listed once for each of their slots -> (each once, its slots). Raises BadInput."""
    counts = Counter(words)
    if not counts:
        raise BadInput(f"{where} names no host", "check that the job still exists")
    for word in counts:
        if [host.word for host in parse_hosts(word, where)] != [word]:
            raise BadInput(f"{where}: {word[:60]!r} is not a host", "check that the job still exists")
    return tuple(counts), tuple(counts.values())


Allocation = Callable[[Mapping[str, str]], AllocatedHosts | None]
"""The environment -> the job that we are in; None when in none. Raises BadInput."""


def find(
    launcher: str, allocation: Allocation, options: StartOptions, env: Mapping[str, str], remedy: str
) -> AllocatedHosts | NotChosen:
    """The job whose hosts a launcher is to use. Raises BadInput where it was asked for and there is none."""
    if options.launcher == launcher:
        found = allocation(env)
        if found is None:
            raise BadInput(f"--launcher {launcher} was requested outside a job", remedy)
        if len(found.hosts) == 1:
            raise BadInput(
                f"--launcher {launcher}: {found.job} has only one host, {found.hosts[0]}",
                f"omit --launcher {launcher} to measure that host, or request more hosts: {remedy}",
            )
        return found
    if options.has_hosts or options.node_rank is not None:
        return NotChosen()
    try:
        found = allocation(env)
    except BadInput as error:
        return refused(error)
    return found if found and len(found.hosts) > 1 else NotChosen()  # one host needs nobody to reach it


def python(options: StartOptions) -> str:
    """The Python to start on the hosts."""
    return options.remote_python or sys.executable


Commands = Callable[[Sequence[str]], NodeCommands]
"""The hosts to start nodes on -> how they are started."""


def plan(
    found: AllocatedHosts, program: str, options: StartOptions, env: Mapping[str, str], commands: Commands
) -> LaunchPlan | NotChosen:
    """The nodes of a job on the hosts of an allocation, each started with `program`. Raises BadInput."""
    if shutil.which(program) is None:
        message = f"{found.job} has {len(found.hosts)} hosts, but {program} was not found in PATH"
        lacking = BadInput(message, "add it to PATH")
        if options.launcher == found.launcher:
            raise lacking
        return refused(lacking)
    if options.rdzv_endpoint:
        inside.parse_endpoint(options.rdzv_endpoint)
    hosts = _hosts(found, options)
    return LaunchPlan(
        nodes=len(hosts),
        nproc=asked_nproc(options) if options.nproc_per_node is not None else _ranks_per_node(found, hosts),
        node_ranks=tuple(range(len(hosts))),
        launch=commands(hosts),
        env=forwarded(options.remote_env, env),
        targets=hosts,
    )


def _hosts(found: AllocatedHosts, options: StartOptions) -> tuple[str, ...]:
    """Of the allocation: those that are named, or the first; in its order."""
    named = [host.name for host in named_hosts(options)] if options.has_hosts else list(found.hosts)
    if unknown := [name for name in named if name not in found.hosts]:
        raise BadInput(f"--hosts: {unknown[0]} is not a host of {found.job}", f"its hosts: {listed(found.hosts)}")
    hosts = tuple(host for host in found.hosts if host in named)
    if options.nodes is not None and options.nodes > len(hosts):
        what = "--hosts names" if options.has_hosts else f"{found.job} has"
        raise BadInput(f"--nodes {options.nodes}, but {what} {len(hosts)}", "allocate more or request fewer")
    return hosts[: options.nodes or len(hosts)]


def _ranks_per_node(found: AllocatedHosts, hosts: Sequence[str]) -> int | None:
    """How many ranks the user wants on each node; None = no wish: one process starts what it needs itself."""
    slots = dict(zip(found.hosts, found.slots, strict=True)) if found.slots else dict.fromkeys(hosts, 1)
    counts = sorted({slots[host] for host in hosts})
    if len(counts) > 1:
        raise BadInput(
            f"{found.job} has {' and '.join(map(str, counts))} processes on its hosts; "
            "every node must have the same number of ranks",
            "set --nproc-per-node N or request the same number on every host",
        )
    return counts[0] if counts[0] > 1 else None


def one_each(found: AllocatedHosts, hosts: Sequence[str], options: StartOptions, to: "To") -> NodeCommands:
    """A command for each host: the words that reach it, and a node process there."""
    commands = tuple(
        Command(argv=(*to(host), python(options), *WORKER), nodes=(number,), host=host)
        for number, host in enumerate(hosts)
    )
    program = commands[0].argv[0]

    def explain(host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
        return _explained(program, host, exit_code, lines)

    return NodeCommands(
        launcher=found.launcher, why=why(found, len(hosts)), commands=commands, remote=True, explain=explain
    )


To = Callable[[str], tuple[str, ...]]
"""A host -> the words of the command that runs the words behind them there."""


def why(found: AllocatedHosts, nodes: int) -> str:
    """The reason for this launcher, as part of a sentence."""
    used = f"; --nodes {nodes} uses the first" if nodes < len(found.hosts) else ""
    return f"job {found.job_id}: {len(found.hosts)} hosts{used}"


def _explained(program: str, host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
    """Why such a command ended before its node was done."""
    if not exit_code:
        return None
    text = "\n".join(lines)
    ended = EndCause(
        "",
        finding_kinds.HOST_LOST,
        f"{program} ended with exit code {exit_code}",
        "read what it says above; check whether the scheduler ended the job or the host went down",
    )
    causes: tuple[EndCause, ...] = (
        far_ends.PACKAGE_MISSING,
        *((far_ends.NO_PYTHON,) if exit_code in far_ends.CANNOT_RUN else ()),
        far_ends.UNHEARD,
        ended,
    )
    cause = next(one for one in causes if re.search(one.pattern, text, re.MULTILINE))
    what = "was lost" if cause.kind is finding_kinds.HOST_LOST else "cannot be used"
    return cause.kind.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} {what}: {cause.what}",
        evidence=last_said(lines),
        remedy=cause.remedy,
    )
