"""The facts of all hosts of a job, and who of them reaches whom: one login for both, and no rank is started."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nccltool.core.findings import Finding, Subject
from nccltool.hosts import reader
from nccltool.hosts.facts import HostFacts
from nccltool.launch import events, instructions
from nccltool.launch.fact_pieces import Assembly
from nccltool.launch.finding_kinds import HOST_MISCONFIGURED, HOST_SILENT
from nccltool.launch.instructions import Goal
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import NodeCommands
from nccltool.launch.session import NodeProcess, Session

COME_S = 20.0
"""In which hosts must have come: ssh gives up on one after 7 s, and a snapshot takes 5 s at most."""
TRY_S = 8.0
"""In which they must have tried to reach each other; each tries all addresses at once, for 5 s."""
ALL_TO_ALL = 48
"""Up to so many hosts each one calls every other one; among more, those 1, 2, 4, ... places on in the ring."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """What was seen. Keys are numbers of nodes."""

    hosts: Mapping[int, str]
    """Their names, as the user or the scheduler wrote them."""
    snapshots: Mapping[int, HostFacts] = field(default_factory=dict)
    nodes: Mapping[int, events.Node] = field(default_factory=dict)
    lost: Mapping[int, Finding] = field(default_factory=dict)
    """Hosts that did not come, and why."""
    unseen: Mapping[int, str] = field(default_factory=dict)
    """Hosts that were not waited for as long as a host may take, and why."""
    calls: tuple[tuple[int, Goal], ...] = ()
    """(caller, whom it was to reach)."""
    reached: tuple[events.Reached, ...] = ()
    cut_short: str = ""
    """Why answers were not waited for as long as they may take."""
    seconds: float = 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why hosts did not come, each once."""
        return tuple(dict.fromkeys(self.lost.values()))


def here(hosts: Mapping[int, str]) -> Survey:
    """This host alone, where all nodes are processes of it."""
    begin = time.monotonic()
    facts = reader.take()
    return Survey(hosts=hosts, snapshots=dict.fromkeys(hosts, facts), seconds=time.monotonic() - begin)


def take(
    launch: NodeCommands,
    job: Job,
    hosts: Mapping[int, str],
    limit_s: float = COME_S + TRY_S,
    stop: Callable[[], bool] = lambda: False,
) -> Survey:
    """All nodes of a remote launch, within their deadlines or the limit, whichever ends first, or until `stop`.

    A job of kind `facts` asks for their facts, one of kind `reach` then has them call each other.
    """
    begin = time.monotonic()
    survey = _Surveying(Session(launch), job.kind == "reach", hosts, begin + limit_s, stop)
    try:
        survey.session.start(job)
        survey.until_came()
        survey.until_tried()
    finally:
        survey.session.end()
    return survey.result(time.monotonic() - begin)


class _Surveying:
    def __init__(
        self, session: Session, is_reach: bool, hosts: Mapping[int, str], end: float, stop: Callable[[], bool]
    ) -> None:
        self.session, self._is_reach = session, is_reach
        self._hosts, self._end, self._stop = hosts, end, stop
        self._assembly = Assembly()
        self._nodes: dict[int, events.Node] = {}
        self._lost: dict[int, Finding] = {}
        self._unseen: dict[int, str] = {}
        self._cut_short = ""
        self._calls: tuple[tuple[int, Goal], ...] = ()
        self._reached: dict[tuple[int, int, int], events.Reached] = {}
        self._come_by = min(time.monotonic() + COME_S, end)

    def until_came(self) -> None:
        while self._goes_on(self._come_by) and not self._all_came():
            self._listen()
        why = self._hurried(self._come_by)
        for node in self._hosts:
            if not self._has_come(node) and node not in self._lost:
                damaged = self._assembly.damaged.get(node)
                if why and not damaged:
                    self._unseen[node] = why
                    continue
                self._lost[node] = _silent(self._hosts[node], COME_S, damaged)

    def until_tried(self) -> None:
        gone = self._lost.keys() | self._unseen.keys()
        left = [self._nodes[node] for node in sorted(self._nodes) if node not in gone]
        self._calls = tuple(calls(left))
        if not self._calls:
            return
        goals: dict[int, tuple[Goal, ...]] = {}
        for node, goal in self._calls:
            goals[node] = (*goals.get(node, ()), goal)
        self.session.tell(instructions.Try(goals=goals))
        end = min(time.monotonic() + TRY_S, self._end)
        while self._goes_on(end) and not self._all_tried():
            self._listen()
        self._cut_short = self._hurried(end)

    def result(self, seconds: float) -> Survey:
        return Survey(
            hosts=self._hosts,
            snapshots={node: self._assembly.snapshots[node] for node in sorted(self._assembly.snapshots)},
            nodes=self._nodes,
            lost=dict(sorted(self._lost.items())),
            unseen=self._unseen,
            calls=self._calls,
            reached=tuple(self._reached.values()),
            cut_short=self._cut_short,
            seconds=seconds,
        )

    def _goes_on(self, end: float) -> bool:
        return self.session.speaking and time.monotonic() < end and not self._stop()

    def _hurried(self, end: float) -> str:
        """Why waiting ended before a host had the time that is its due; empty = it had."""
        if self._stop():
            return "interrupted before it had answered"
        return "the budget ended before it had answered" if end == self._end <= time.monotonic() else ""

    def _all_came(self) -> bool:
        return all(self._has_come(node) or node in self._lost for node in self._hosts)

    def _has_come(self, node: int) -> bool:
        return node in self._assembly.snapshots and (node in self._nodes or not self._is_reach)

    def _all_tried(self) -> bool:
        awaited = {(node, goal.node, goal.port) for node, goal in self._calls if node not in self._lost}
        return awaited <= self._reached.keys()

    def _listen(self) -> None:
        for _, _, event in self.session.listen(events.decode):
            match event:
                case events.FactsPiece() as piece:
                    self._assembly.take(piece)
                case events.Node() as node if node.node in self._hosts:
                    self._nodes[node.node] = node
                case events.Reached() as reached:
                    self._reached[reached.node, reached.goal, reached.port] = reached
        for process in self.session.newly_ended():
            self._lose_nodes_of(process)
        self.session.keep_alive()

    def _lose_nodes_of(self, process: NodeProcess) -> None:
        """A command has ended, which none should before we end it, or before its nodes have sent their facts."""
        command, code = process.command, process.exit_code() or 0
        for node in command.nodes:
            if node not in self._lost and (self._is_reach or not self._has_come(node)):
                why = self.session.launch.explain(command.host, code, process.words)
                self._lost[node] = why or _ended(self._hosts[node], code, process.words)


def _ended(host: str, code: int, lines: tuple[str, ...]) -> Finding:
    return HOST_MISCONFIGURED.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} sent no facts: the process there ended (exit code {code})",
        evidence=tuple(line.strip()[:300] for line in lines if line.strip())[-4:],
        remedy="try there: python -c 'import nccltool'; --remote-python names another Python",
    )


def _silent(host: str, deadline_s: float, damaged: str | None) -> Finding:
    why = f"sent facts that cannot be read: {damaged}" if damaged else f"sent no facts in {deadline_s:.0f} s"
    return HOST_SILENT.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} {why}",
        remedy="try there: nccltool facts; look at its file systems and load",
    )


def calls(nodes: Sequence[events.Node]) -> Iterator[tuple[int, Goal]]:
    """(caller, goal): where node 0 serves the store, any port of the others, by their addresses and their name."""
    count = len(nodes)
    for place, node in enumerate(nodes):
        steps = range(1, count) if count <= ALL_TO_ALL else [1 << power for power in range(count.bit_length() - 1)]
        for step in steps:
            other = nodes[(place + step) % count]
            where = tuple(dict.fromkeys((other.host, *other.addresses)))
            yield node.node, Goal(node=other.node, port=other.data_port, addresses=where)
        first = nodes[0]
        if node is not first and first.port:
            where = tuple(dict.fromkeys((first.host, *first.addresses)))
            yield node.node, Goal(node=first.node, port=first.port, addresses=where)
