"""The facts of all hosts of a job, and who of them reaches whom: one login for both, and no rank is started."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nccltool.core.findings import Finding, Subject
from nccltool.hosts import reader
from nccltool.hosts.facts import HostFacts
from nccltool.hosts.sources import net
from nccltool.launch import events, instructions, own_end
from nccltool.launch.fact_pieces import Assembly
from nccltool.launch.finding_kinds import HOST_MISCONFIGURED, HOST_SILENT
from nccltool.launch.instructions import Goal
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import NodeCommands, last_said
from nccltool.launch.reach.arrivals import slowness
from nccltool.launch.session import NodeProcess, Session
from nccltool.launch.standstill import LONGEST_LOOK_S, Standstill

COME_S = 20.0
"""In which hosts must have come: ssh gives up on one after 7 s, and a snapshot takes 5 s at most."""
TRY_S = 8.0
"""In which they must have tried to reach each other; each tries all addresses at once, for 5 s."""
ALL_TO_ALL = 48
"""Up to so many hosts each one calls every other one; among more, those 1, 2, 4, ... places on in the ring."""


@dataclass(kw_only=True, slots=True)
class Survey:
    """What was seen. Keys are numbers of nodes."""

    hosts: Mapping[int, str]
    """Their names, as the user or the scheduler wrote them."""
    snapshots: dict[int, HostFacts] = field(default_factory=dict)
    nodes: dict[int, events.Node] = field(default_factory=dict)
    lost: dict[int, Finding] = field(default_factory=dict)
    """Hosts that did not come, and why."""
    own_end: Finding | None = None
    """About this host or command, where that is why hosts were lost: it reaches none of several others, or it was
    stopped."""
    unseen: dict[int, str] = field(default_factory=dict)
    """Hosts that were not waited for as long as a host may take, and why."""
    calls: tuple[tuple[int, Goal], ...] = ()
    """(caller, whom it was to reach)."""
    reached: Sequence[events.Reached] = ()
    cut_short: str = ""
    """Why answers were not waited for as long as they may take."""
    seconds: float = 0.0
    stopped_s: float = 0.0
    """Of these, how long this command did not run itself."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why hosts did not come, each once."""
        return (self.own_end,) if self.own_end else tuple(dict.fromkeys(self.lost.values()))


def here(hosts: Mapping[int, str]) -> Survey:
    """This host alone, where all nodes are processes of it."""
    begin = time.monotonic()
    facts = reader.take()
    return Survey(hosts=hosts, snapshots=dict.fromkeys(hosts, facts), seconds=time.monotonic() - begin)


def take(
    launch: NodeCommands,
    job: Job,
    hosts: Mapping[int, str],
    limit_s: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Survey:
    """All nodes of a remote launch, within their deadlines or the limit, whichever ends first, or until `stop`.

    A job of kind `facts` asks for their facts, one of kind `reach` then has them call each other.
    """
    begin = time.monotonic()
    session, come_s = Session(launch), COME_S * slowness() + launch.starts_s
    end = begin + (come_s + TRY_S if limit_s is None else limit_s)
    surveying = _Surveying(session, job.kind == "reach", Survey(hosts=hosts), end, stop, come_s)
    try:
        session.start(job)
        surveying.until_came()
        surveying.until_tried()
        surveying.look_at_own_end()
    finally:
        session.end()
    survey = surveying.survey
    survey.snapshots, survey.lost = dict(sorted(survey.snapshots.items())), dict(sorted(survey.lost.items()))
    survey.seconds = time.monotonic() - begin
    return survey


class _Surveying:
    def __init__(
        self,
        session: Session,
        is_reach: bool,
        survey: Survey,
        end: float,
        stop: Callable[[], bool],
        come_s: float,
    ) -> None:
        self._session, self._is_reach, self.survey, self._end, self._stop = session, is_reach, survey, end, stop
        self._assembly = Assembly()
        survey.snapshots = self._assembly.snapshots
        self._reached: dict[tuple[int, int, int], events.Reached] = {}
        now = time.monotonic()
        self._come_s, self._come_by = come_s, min(now + come_s, end)
        self._standstill, self._stood_s = Standstill(now), 0.0

    def until_came(self) -> None:
        survey = self.survey
        while self._goes_on(self._come_by) and not all(map(self._is_settled, survey.hosts)):
            self._listen()
        why = self._hurried(self._come_by)
        for node, host in survey.hosts.items():
            if not self._is_settled(node):
                damaged = self._assembly.damaged.get(node)
                if why and not damaged:
                    survey.unseen[node] = why
                    continue
                said = f"unreadable facts: {damaged}" if damaged else f"no facts within {self._come_s:.0f} s"
                survey.lost[node] = HOST_SILENT.finding(
                    subject=Subject(kind="host", name=host),
                    message=f"{host} sent {said}",
                    remedy="run nccltool facts on that host; check the host's file systems and load",
                )

    def until_tried(self) -> None:
        survey = self.survey
        gone = survey.lost.keys() | survey.unseen.keys()
        survey.calls = tuple(calls([survey.nodes[node] for node in sorted(survey.nodes) if node not in gone]))
        if not survey.calls:
            return
        goals: dict[int, tuple[Goal, ...]] = {}
        for node, goal in survey.calls:
            goals[node] = (*goals.get(node, ()), goal)
        self._session.tell(instructions.Try(goals=goals))
        end = min(time.monotonic() + TRY_S, self._end)
        while self._goes_on(end) and not self._all_tried():
            self._listen()
        survey.cut_short, survey.reached = self._hurried(end), tuple(self._reached.values())

    def look_at_own_end(self) -> None:
        """Whether hosts were lost because of this one, or of this command."""
        survey, lost = self.survey, tuple(self.survey.lost.values())
        if (excused := self._standstill.excused(lost, "hosts")) != lost:
            survey.own_end = excused[-1]
            return
        at_home = {node for node, one in survey.nodes.items() if one.host_id == net.host_id()}
        others = [node for node in survey.hosts if node not in at_home]
        of_others = [survey.lost[node] for node in others if node in survey.lost]
        if not any(node in survey.nodes for node in others):
            survey.own_end = own_end.of_lost(socket.gethostname(), len(others), of_others)
        if survey.own_end is None and (of_others or len(survey.reached) < len(survey.calls)):
            survey.own_end = own_end.cut_off(self._session.processes, at_home, of_others, self._listen)
            self._standstill.worked(time.monotonic())

    def _goes_on(self, end: float) -> bool:
        now = time.monotonic()
        stood_s = self._standstill.look(now)
        self._stood_s += stood_s
        self.survey.stopped_s += stood_s if stood_s > LONGEST_LOOK_S else 0.0
        return self._session.speaking and now - self._stood_s < end and not self._stop()

    def _hurried(self, end: float) -> str:
        """Why waiting ended before a host had the time that is its due; empty = it had."""
        if self._stop():
            return "interrupted before it answered"
        return "the budget ran out before it answered" if end == self._end <= time.monotonic() else ""

    def _is_settled(self, node: int) -> bool:
        return self._has_come(node) or node in self.survey.lost

    def _has_come(self, node: int) -> bool:
        return node in self.survey.snapshots and (node in self.survey.nodes or not self._is_reach)

    def _all_tried(self) -> bool:
        lost, reached = self.survey.lost, self._reached
        return all(node in lost or (node, goal.node, goal.port) in reached for node, goal in self.survey.calls)

    def _listen(self) -> None:
        for _, _, event in self._session.listen(events.decode):
            match event:
                case events.FactsPiece():
                    self._assembly.take(event)
                case events.Node() if event.node in self.survey.hosts:
                    self.survey.nodes[event.node] = event
                case events.Reached():
                    self._reached[event.node, event.goal, event.port] = event
        for process in self._session.newly_ended():
            self._lose_nodes_of(process)
        self._session.keep_alive()
        self._session.note_logins(time.monotonic())

    def _lose_nodes_of(self, process: NodeProcess) -> None:
        """A command has ended, which none should before we end it, or before its nodes have sent their facts."""
        command, code = process.command, process.exit_code() or 0
        for node in command.nodes:
            if node not in self.survey.lost and (self._is_reach or not self._has_come(node)):
                host = self.survey.hosts[node]
                why = self._session.launch.explain(command.host, code, process.words)
                self.survey.lost[node] = why or HOST_MISCONFIGURED.finding(
                    subject=Subject(kind="host", name=host),
                    message=f"{host} sent no facts: the process there ended (exit code {code})",
                    evidence=last_said(process.words),
                    remedy="run there: python -c 'import nccltool'; to use another Python, pass --remote-python",
                )


def calls(nodes: Sequence[events.Node]) -> Iterator[tuple[int, Goal]]:
    """(caller, goal): where node 0 serves the store, any port of the others, by their addresses and their name."""
    count = len(nodes)
    steps = range(1, count) if count <= ALL_TO_ALL else [1 << power for power in range(count.bit_length() - 1)]
    for place, node in enumerate(nodes):
        for step in steps:
            other = nodes[(place + step) % count]
            yield node.node, _goal(other, other.data_port)
        if place and nodes[0].port:
            yield node.node, _goal(nodes[0], nodes[0].port)


def _goal(node: events.Node, port: int) -> Goal:
    return Goal(node=node.node, port=port, addresses=tuple(dict.fromkeys((node.host, *node.addresses))))
