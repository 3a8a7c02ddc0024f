"""LOOK at all hosts of a job: start a node process on each, and take the snapshots that they send."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from nccltool.core import processes
from nccltool.core.findings import Finding, Subject
from nccltool.hosts.facts import HostFacts
from nccltool.launch import events
from nccltool.launch.child_processes import Child, Children, environment
from nccltool.launch.fact_pieces import Assembly
from nccltool.launch.finding_kinds import HOST_MISCONFIGURED, HOST_SILENT
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import Launch
from nccltool.launch.node_names import node_name

DEADLINE_S = 20.0
"""ssh gives up on a host after 7 s, and a snapshot takes 5 s at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """What the hosts said."""

    snapshots: tuple[HostFacts, ...]
    """In the order of the nodes."""
    findings: tuple[Finding, ...]
    """Hosts that said nothing, and why."""


def take(launch: Launch, job: Job, deadline_s: float = DEADLINE_S) -> Inventory:
    """The snapshots of all nodes of a launch, within the deadline."""
    processes.adopt_orphans()
    children = Children(launch, environment(""))
    assembly, lost = Assembly(), dict[int, Finding]()
    wanted = [node for command in launch.commands for node in command.nodes]
    try:
        children.start([msgspec.json.encode(each) + b"\n" for each in launch.jobs(job)])
        end = time.monotonic() + deadline_s
        while children.speaking and time.monotonic() < end and not _all(wanted, assembly, lost):
            _listen(children, assembly)
            for child in children.all:
                if not child.open_pipes:
                    _hear_out(launch, child, assembly, lost)
    finally:
        children.kill()
    names = launch.names()
    for node in wanted:
        if node not in assembly.snapshots and node not in lost:
            lost[node] = silent(names[node] or node_name(node), deadline_s, assembly.damaged.get(node))
    return Inventory(
        snapshots=tuple(facts for _, facts in sorted(assembly.snapshots.items())),
        findings=tuple(dict.fromkeys(lost[node] for node in sorted(lost))),
    )


def _all(wanted: Iterable[int], assembly: Assembly, lost: dict[int, Finding]) -> bool:
    return all(node in assembly.snapshots or node in lost for node in wanted)


def _listen(children: Children, assembly: Assembly) -> None:
    for child, line, is_events in children.listen():
        event = events.decode(line) if is_events else None
        if event is None:
            child.hear(line.decode(errors="replace"))
        elif isinstance(event, events.FactsPiece):
            assembly.take(event)


def _hear_out(launch: Launch, child: Child, assembly: Assembly, lost: dict[int, Finding]) -> None:
    command, code, names = launch.commands[child.number], child.exit_code() or 0, launch.names()
    for node in command.nodes:
        if node not in assembly.snapshots and node not in lost:
            why = launch.explain(command.host, code, tuple(child.said))
            lost[node] = why or ended(names[node] or node_name(node), code, tuple(child.said))


def ended(host: str, code: int, lines: tuple[str, ...]) -> Finding:
    """A node process ended before it had sent its facts."""
    return HOST_MISCONFIGURED.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} sent no facts: the process there ended (exit code {code})",
        evidence=tuple(line.strip()[:300] for line in lines if line.strip())[-4:],
        remedy="try there: python -c 'import nccltool'; --remote-python names another Python",
    )


def silent(host: str, deadline_s: float, damaged: str | None) -> Finding:
    """A host that sent no facts, or none that can be read."""
    why = f"sent facts that cannot be read: {damaged}" if damaged else f"sent no facts in {deadline_s:.0f} s"
    return HOST_SILENT.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} {why}",
        remedy="try there: nccltool facts; look at its file systems and load",
    )
