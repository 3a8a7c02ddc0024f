"""LOOK at all hosts of a job, and at who of them reaches whom: one login for both, and no rank is started."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from nccltool.core import processes
from nccltool.core.findings import Finding
from nccltool.hosts import reader
from nccltool.hosts.facts import HostFacts
from nccltool.launch import events, host_inventory, instructions
from nccltool.launch.child_processes import Child, Children, environment
from nccltool.launch.fact_pieces import Assembly
from nccltool.launch.instructions import Goal
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import Launch

COME_S = 20.0
"""In which hosts must have come: ssh gives up on one after 7 s, and a snapshot takes 5 s at most."""
TRY_S = 8.0
"""In which they must have tried to reach each other; each tries all addresses at once, for 5 s."""
ALIVE_S = 5.0
"""How often hosts hear of us; they end when they do not."""
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


def here(hosts: Mapping[int, str]) -> Survey:
    """This host alone, where all nodes are processes of it."""
    begin = time.monotonic()
    facts = reader.take()
    return Survey(hosts=hosts, snapshots=dict.fromkeys(hosts, facts), seconds=time.monotonic() - begin)


def take(
    launch: Launch,
    job: Job,
    hosts: Mapping[int, str],
    limit_s: float = COME_S + TRY_S,
    stop: Callable[[], bool] = lambda: False,
) -> Survey:
    """All nodes of a remote launch, within their deadlines or the limit, whichever ends first, or until `stop`."""
    processes.adopt_orphans()
    begin = time.monotonic()
    survey = _Surveying(launch, hosts, begin, begin + limit_s, stop)
    try:
        survey.start(job)
        survey.until_came()
        survey.until_tried()
    finally:
        survey.children.kill()
    return survey.result(time.monotonic() - begin)


class _Surveying:
    def __init__(
        self, launch: Launch, hosts: Mapping[int, str], begin: float, end: float, stop: Callable[[], bool]
    ) -> None:
        self._launch, self._hosts, self._end, self._stop = launch, hosts, end, stop
        self.children = Children(launch, environment(""))
        self._assembly = Assembly()
        self._nodes: dict[int, events.Node] = {}
        self._lost: dict[int, Finding] = {}
        self._unseen: dict[int, str] = {}
        self._cut_short = ""
        self._calls: tuple[tuple[int, Goal], ...] = ()
        self._reached: dict[tuple[int, int, int], events.Reached] = {}
        self._come_by, self._told_at = min(begin + COME_S, end), begin

    def start(self, job: Job) -> None:
        self.children.start([msgspec.json.encode(each) + b"\n" for each in self._launch.jobs(job)])

    def until_came(self) -> None:
        while self._goes_on(self._come_by) and not self._all_came():
            self._listen()
        why = self._hurried(self._come_by)
        for node in self._hosts:
            if (node not in self._assembly.snapshots or node not in self._nodes) and node not in self._lost:
                damaged = self._assembly.damaged.get(node)
                if why and not damaged:
                    self._unseen[node] = why
                    continue
                self._lost[node] = host_inventory.silent(self._hosts[node], COME_S, damaged)

    def until_tried(self) -> None:
        gone = self._lost.keys() | self._unseen.keys()
        left = [self._nodes[node] for node in sorted(self._nodes) if node not in gone]
        self._calls = tuple(calls(left))
        if not self._calls:
            return
        goals: dict[int, tuple[Goal, ...]] = {}
        for node, goal in self._calls:
            goals[node] = (*goals.get(node, ()), goal)
        self._tell(instructions.Try(goals=goals))
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
        return self.children.speaking and time.monotonic() < end and not self._stop()

    def _hurried(self, end: float) -> str:
        """Why waiting ended before a host had the time that is its due; empty = it had."""
        if self._stop():
            return "interrupted before it had answered"
        return "the budget ended before it had answered" if end == self._end <= time.monotonic() else ""

    def _all_came(self) -> bool:
        there = self._assembly.snapshots.keys() & self._nodes.keys()
        return all(node in there or node in self._lost for node in self._hosts)

    def _all_tried(self) -> bool:
        awaited = {(node, goal.node, goal.port) for node, goal in self._calls if node not in self._lost}
        return awaited <= self._reached.keys()

    def _listen(self) -> None:
        for child, line, is_events in self.children.listen():
            match events.decode(line) if is_events else None:
                case events.FactsPiece() as piece:
                    self._assembly.take(piece)
                case events.Node() as node if node.node in self._hosts:
                    self._nodes[node.node] = node
                case events.Reached() as reached:
                    self._reached[reached.node, reached.goal, reached.port] = reached
                case None:
                    child.hear(line.decode(errors="replace"))
        for child in self.children.all:
            if not child.open_pipes:
                self._hear_out(child)
        if time.monotonic() - self._told_at > ALIVE_S:
            self._tell(instructions.Alive())

    def _hear_out(self, child: Child) -> None:
        """A command has ended, which none should before we end it."""
        command, code = self._launch.commands[child.number], child.exit_code() or 0
        for node in command.nodes:
            if node not in self._lost:
                why = self._launch.explain(command.host, code, tuple(child.said))
                self._lost[node] = why or host_inventory.ended(self._hosts[node], code, tuple(child.said))

    def _tell(self, instruction: instructions.Instruction) -> None:
        self._told_at = time.monotonic()
        for child in self.children.all:
            nodes = self._launch.commands[child.number].nodes
            child.tell(instructions.encode(instructions.for_nodes(instruction, nodes)))


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
