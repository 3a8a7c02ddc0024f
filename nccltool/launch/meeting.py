"""Before remote nodes start ranks: who came, who reaches whom, and who takes part.

No I/O and no clock of its own. A host that cannot take part is named within the time of its arrival or TRY_S.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nccltool import __version__
from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.core.host_lists import briefly, fold
from nccltool.core.text import named
from nccltool.launch import events, finding_kinds, instructions, own_end, path_check, torch_needed
from nccltool.launch.failed_calls import FailedCalls
from nccltool.launch.gpu_shares import ranks_for, ranks_over_gloo
from nccltool.launch.instructions import Goal
from nccltool.launch.job import Job, node_name
from nccltool.launch.path_check import PathCheck
from nccltool.launch.reach.arrivals import ExpectedHosts, sent_nothing, slowness

OfMeeting = events.Starting | events.Node | events.Reached | events.HalfOpen
OF_MEETINGS = (events.Starting, events.Node, events.Reached, events.HalfOpen)
"""What node processes say before their ranks start; the same."""
TRY_S = 8.0
"""In which nodes must have tried to reach others; each tries all addresses at once, for 5 s."""
_SHOWN = 4
"""Lines of evidence."""
_NAMED = 8
"""Hosts in a sentence."""


@dataclass(slots=True)
class Meeting:
    """The meeting of the nodes. Feed it what is heard, ask `step` what to say."""

    job: Job
    hosts: Mapping[int, str]
    """Node to the host's name as the user wrote it; '' = not known before it speaks."""
    keep_going: bool
    begin: float
    starts_s: float = 0.0
    """How long the nodes may take to be started."""
    slowness: Callable[[], float] = slowness
    """How many times longer than usual things may take now."""
    arrivals: ExpectedHosts = field(init=False)
    """How long they may take to come."""
    came: dict[int, events.Node] = field(default_factory=dict)
    at_home: dict[int, str] = field(default_factory=dict)
    """Nodes that run on the runner's own host, and the loopback address that their names lead to there."""
    lost: dict[int, Finding] = field(default_factory=dict)
    """Nodes that do not take part, and why."""
    silent: list[int] = field(default_factory=list)
    """Nodes that were lost for it, and whose logins nobody has looked at."""
    here: str = ""
    """The name of the runner's own host."""
    going: instructions.Go | None = None
    failed: bool = False
    _trying: instructions.Try | None = None
    _first: int = 0
    _uneven: Finding | None = None
    _reached: dict[tuple[int, int, int], events.Reached] = field(default_factory=dict)
    """By node, goal and its port."""
    _awaited: set[tuple[int, int, int]] = field(default_factory=set)
    """Those that have not come: a run of a thousand nodes has some ten thousand, and looks after each."""
    _awaited_of: dict[int, set[tuple[int, int, int]]] = field(default_factory=dict)
    """All that were, by either node."""

    def __post_init__(self) -> None:
        self.arrivals = ExpectedHosts(len(self.hosts), self.begin, self.starts_s, self.slowness)

    def hear(self, event: events.Node | events.Reached) -> None:
        if isinstance(event, events.Node):
            self.came[event.node] = event
        else:
            key = (event.node, event.goal, event.port)
            self._reached[key] = event
            self._awaited.discard(key)

    def lose(self, node: int, finding: Finding) -> None:
        """A node will not come."""
        self.lost.setdefault(node, finding)
        self._awaited -= self._awaited_of.pop(node, set())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What kept nodes, or all of them, from taking part, in the order of the nodes."""
        found = [self.lost[node] for node in sorted(self.lost)]
        if own := self._own_end():
            found = [own]
        return _folded([*found, *([self._uneven] if self._uneven else [])])

    def step(self, now: float) -> instructions.Instruction | None:
        """What to tell all nodes now, if anything. Sets `going` or `failed` in the end."""
        if self.going or self.failed:
            return None
        return self._when_all_came(now) if self._trying is None else self._when_all_tried(now)

    def _when_all_came(self, now: float) -> instructions.Instruction | None:
        silent = [node for node in self.hosts if node not in self.came and node not in self.lost]
        self.arrivals.look(len(self.came), now)
        if silent and now - self.begin < self.arrivals.patience_s():
            return None
        coming = [node for node in silent if self.arrivals.is_coming(node, now)]
        for node in silent:
            if node not in coming:
                self._lose_silent(node, self.arrivals.why(node, now))
        if coming:
            self._must_stop()
            return None
        self._check_versions()
        self._check_packages()
        self._check_places()
        self._check_twins()
        self._check_ports()
        return None if self._must_stop() else self._try(now)

    def _try(self, now: float) -> instructions.Instruction | None:
        left = self._left()
        first = left[0]
        if len(left) == 1:
            return self._go(left, {})
        store = Goal(node=first.node, port=first.port, addresses=self._candidates(first))
        self._trying = instructions.Try(
            goals={
                node.node: (*([store] if node is not first else []), *_neighbours(left, place))
                for place, node in enumerate(left)
            }
        )
        self._first, self.begin = first.node, now
        self._reached.clear()
        self._awaited = {(node, goal.node, goal.port) for node, goal in self._goals()}
        self._awaited_of = {}
        for key in self._awaited:
            for either in key[:2]:
                self._awaited_of.setdefault(either, set()).add(key)
        return self._trying

    def _when_all_tried(self, now: float) -> instructions.Instruction | None:
        if self.lost and self._must_stop():
            return None
        if self._first in self.lost:
            return self._try(now)
        if self._awaited and now - self.begin < self.arrivals.stretched(TRY_S):
            return None
        self._judge_large()
        for node in sorted({node for node, _, _ in self._awaited}):
            self._lose_silent(node, sent_nothing(now - self.begin))
        self._judge_store()
        self._judge_neighbours()
        if self._must_stop():
            return None
        left = self._left()
        return self._go(left, self._addresses(left)) if left[0].node == self._first else self._try(now)

    def _goals(self) -> Iterator[tuple[int, Goal]]:
        """(node, goal) of what was to be tried between nodes that are not lost."""
        assert self._trying is not None
        for node, goals in self._trying.goals.items():
            yield from ((node, goal) for goal in goals if not {node, goal.node} & self.lost.keys())

    def _failed_at(self) -> Iterator[tuple[int, Goal, events.Reached]]:
        for node, goal in self._goals():
            answer = self._reached.get((node, goal.node, goal.port))
            if answer is not None and not answer.addresses:
                yield node, goal, answer

    def _judge_large(self) -> None:
        """Hosts between which small packets arrive, and large ones do not. What such a host has to say may be lost
        too: those that called it tell."""
        failed = FailedCalls([call for call in self._failed_at() if call[2].large_lost])
        while (worst := failed.worst()) is not None:
            those = failed.take(worst)
            others = dict.fromkeys(g.node if n == worst else n for n, g, _ in those)
            sent = {n == worst if a.large_lost == "to-goal" else g.node == worst for n, g, a in those}
            way = "from" if sent == {True} else "to" if sent == {False} else "to and from"
            name, them = self.name(worst), named((self.name(node) for node in others), _NAMED)
            loses = f"large packets between {name} and {them} are lost on the way {way} {name}"
            remedy = f"make the MTU of {name}, of {them}, and of each switch between them equal: ip link"
            told = (f"{self.name(n)} calls {self.name(g.node)}: {a.large_packets_lost}" for n, g, a in those)
            failures = list(dict.fromkeys(told))  # a host may be called at two ports
            is_pair = len(others) == 1
            subject = Subject(kind="link", name=f"{them} - {name}") if is_pair else Subject(kind="host", name=name)
            self.lose(
                worst,
                finding_kinds.LARGE_PACKETS_LOST.finding(
                    subject=subject, message=loses, evidence=tuple(failures[:_SHOWN]), remedy=remedy
                ),
            )

    def _judge_store(self) -> None:
        """Node 0 must be reached by all; where nobody reaches it, it is the culprit itself."""
        first = self.came[self._first]
        callers = [node for node, goal in self._goals() if (goal.node, goal.port) == (first.node, first.port)]
        failed = [(n, a) for n, g, a in self._failed_at() if (g.node, g.port) == (first.node, first.port)]
        named = self.job.endpoint
        where = f"at {named} (--rdzv-endpoint)" if named else f"at port {first.port}"
        other_way = "or set --rdzv-endpoint HOST:PORT to an open address and port"
        name, what = self.name(first.node), f"cannot reach node 0 ({self.name(first.node)}) {where}"
        remedy = f"check the firewalls of both hosts and the routes between them, {other_way}"
        if len(failed) > 1 and len(failed) == len(callers):
            failed = [(first.node, failed[0][1])]
            what = f"is node 0, and none of the {len(callers)} other nodes can reach it {where}"
            remedy = f"check the firewall and the interfaces of {name}, {other_way}"
        for node, answer in failed:
            self._refuse(node, finding_kinds.RDZV_UNREACHABLE, what, remedy, answer.failures)

    def _judge_neighbours(self) -> None:
        """Ports that ranks will talk through: the host that most of what fails leads to, or comes from."""
        failed = FailedCalls(list(self._failed_at()))
        while (worst := failed.worst()) is not None:
            those = failed.take(worst)
            callers = [self.name(n) for n, g, _ in those if g.node == worst]
            called = [self.name(g.node) for n, g, _ in those if n == worst]
            parts = [f"cannot be reached by {named(callers, _NAMED)}"] if callers else []
            parts += [f"cannot reach {named(called, _NAMED)}"] if called else []
            failures = [f"{self.name(node)}: {why}" for node, _, answer in those for why in answer.failures]
            what = f"{' and '.join(parts)}: connections between ranks, which use any port, will fail"
            remedy = f"check the firewall of {self.name(worst)}: open all ports between the hosts of a job"
            self._refuse(worst, finding_kinds.PEER_UNREACHABLE, what, remedy, failures[:_SHOWN])

    def _go(self, left: Sequence[events.Node], addresses: Mapping[int, str]) -> instructions.Go | None:
        nproc, port = self._nproc(), left[0].port
        if nproc is None:
            self.failed = True
            return None
        places = {
            node.node: (rank, f"{_bracketed(addresses.get(node.node, '127.0.0.1'))}:{port}")
            for rank, node in enumerate(left)
        }
        served_at = tuple(dict.fromkeys(addresses.values()))
        self.going = instructions.Go(nodes=len(places), places=places, nproc_per_node=nproc, served_at=served_at)
        return self.going

    def _left(self) -> list[events.Node]:
        return [node for number, node in sorted(self.came.items()) if number not in self.lost]

    def _must_stop(self) -> bool:
        self.failed = not self._left() or (bool(self.findings) and not self.keep_going)
        return self.failed

    def _candidates(self, first: events.Node) -> tuple[str, ...]:
        host = self.job.endpoint.rpartition(":")[0].removeprefix("[").removesuffix("]")
        return (host,) if host else first.addresses

    def _addresses(self, left: Sequence[events.Node]) -> dict[int, str]:
        """Where each node reaches node 0: all at the same address if there is one that all reach."""
        first, *others = left
        answers = {node.node: self._reached[node.node, first.node, first.port].addresses for node in others}
        common = [a for a in self._candidates(first) if all(a in reached for reached in answers.values())]
        return {node: common[0] if common else reached[0] for node, reached in answers.items()}

    def _nproc(self) -> int | None:
        """Ranks on each node: as asked for, or one for each GPU; without any one, or two on the only node."""
        if self.job.nproc_per_node is not None:
            return self.job.nproc_per_node
        by_count: dict[int | None, list[str]] = {}
        for node in self._left():
            by_count.setdefault(node.gpus, []).append(self.name(node.node))
        if self.job.backend == "gloo":
            return ranks_over_gloo(by_count, len(self.hosts))
        if len(by_count) == 1:
            return ranks_for(next(iter(by_count)), len(self.hosts))
        ranked = sorted(by_count.items(), key=lambda item: -1 if item[0] is None else item[0])
        counts = (("an unknown number" if gpus is None else gpus, named(hosts, 4)) for gpus, hosts in ranked)
        told = named((f"{gpus} on {hosts}" for gpus, hosts in counts), _NAMED, "; ")
        fewest = min(ranked, key=lambda item: len(item[1]))
        self._uneven = finding_kinds.RANKS_PER_NODE.finding(
            subject=Subject(kind="host", name=fewest[1][0]),
            message=f"the nodes have different numbers of GPUs: {told}",
            remedy="exclude the host that differs or set --nproc-per-node N",
        )
        return None

    def _check_versions(self) -> None:
        for node in self._left():
            if node.nccltool != __version__:
                what = f"has nccltool {node.nccltool}, but this host has {__version__}"
                remedy = "install the same version there or name the right Python: --remote-python"
                self._refuse(node.node, finding_kinds.VERSION_MISMATCH, what, remedy)

    def _check_packages(self) -> None:
        for node in self._left():
            if node.missing:
                what = torch_needed.lacks(node.python, node.missing)
                remedy = torch_needed.remedy(node.missing, "name a Python there that has it: --remote-python")
                self._refuse(node.node, finding_kinds.HOST_MISCONFIGURED, what, f"there: {remedy}")

    def _check_places(self) -> None:
        """A name that leads to the loopback interface where the runner is leads to the runner's own host."""
        for node in self._left():
            address = self.at_home.get(node.node)
            if address and not self._is_named(node):
                what = f"resolves to {address} here, so ssh reached this host, {node.host}, instead"
                remedy = f"correct the address of {self.name(node.node)} in /etc/hosts here or use its address"
                self._refuse(node.node, finding_kinds.HOST_TWICE, what, remedy)

    def _is_named(self, node: events.Node) -> bool:
        """Whether the name that the user wrote is the host's own."""
        written = self.name(node.node).partition(":")[0]
        return written == "localhost" or written.split(".")[0].lower() == node.host.split(".")[0].lower()

    def _check_twins(self) -> None:
        seen: dict[str, events.Node] = {}
        for node in self._left():
            other = seen.setdefault(node.host_id, node)
            if other is node:
                continue
            right, wrong = (node, other) if self._is_named(node) and not self._is_named(other) else (other, node)
            seen[node.host_id] = right
            what = f"is the same host as {self.name(right.node)}: both are {wrong.host}"
            name = self.name(wrong.node)
            remedy = f"check whether its name resolves to a different host's address here: getent hosts {name}"
            self._refuse(wrong.node, finding_kinds.HOST_TWICE, what, remedy)

    def _check_ports(self) -> None:
        for node in self._left()[:1]:
            if not node.port:
                self._refuse(node.node, finding_kinds.PORT_IN_USE, node.problem, "choose another port")

    def _own_end(self) -> Finding | None:
        """This host, where none of several others came, and the network is why."""
        others = [node for node in self.hosts if node not in self.at_home]
        if any(node in self.came for node in others):
            return None
        return own_end.of_lost(self.here, len(others), [self.lost[node] for node in others if node in self.lost])

    def path_check(self, now: float) -> PathCheck | None:
        """Calls by which those that take part see who still reaches whom; None = nobody can be asked."""
        if self.going is None:
            return None
        return path_check.of(self.came, {node: self.name(node) for node in self.going.places}, self._reached, now)

    def awaits(self, nodes: Sequence[int]) -> bool:
        """One node, which has not come, or has said nothing since."""
        return len(nodes) == 1 and (nodes[0] in self.silent or nodes[0] not in {*self.came, *self.lost})

    def blame_large_packets(self, node: int, stuck: int) -> None:
        """A host that sent nothing has not confirmed so many bytes either, over a connection that it accepted."""
        name = self.name(node)
        self.lost[node] = finding_kinds.LARGE_PACKETS_LOST.finding(
            subject=Subject(kind="host", name=name),
            message=f"large packets to {name} are lost: it accepted the login's connection, and has not confirmed "
            f"{stuck} bytes since, which are sent again and again",
            evidence=("a path that is cut in the middle of a login looks the same",),
            remedy=f"make the MTU of {name}, of this host, and of each switch between them equal: ip link; "
            f"ping -M do -s 1472 {name}",
        )

    def _lose_silent(self, node: int, what: str) -> None:
        self.silent.append(node)
        remedy = "log in with ssh and run there: python -c 'import nccltool'; check the load of the host"
        self._refuse(node, finding_kinds.HOST_SILENT, what, remedy)

    def name(self, node: int) -> str:
        """The host as the user knows it."""
        return self.hosts.get(node) or (self.came[node].host if node in self.came else node_name(node))

    def _refuse(self, node: int, kind: FindingKind, what: str, remedy: str, evidence: Sequence[str] = ()) -> None:
        name, said = self.name(node), tuple(evidence)
        subject = Subject(kind="host", name=name)
        self.lose(node, kind.finding(subject=subject, message=f"{name} {what}", evidence=said, remedy=remedy))


def _folded(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings that differ only in the host that their messages begin with are one that names all of these."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in dict.fromkeys(findings):
        what = finding.message.removeprefix(finding.subject.name)
        groups.setdefault((finding.code, what, finding.remedy), []).append(finding)
    folded = []
    for (_, what, _), (first, *others) in groups.items():
        name = fold(finding.subject.name for finding in (first, *others))
        evidence = tuple(finding.evidence[0] for finding in (first, *others) if finding.evidence)[:_SHOWN]
        subject = Subject(kind="host", name=name)
        message = f"{briefly(finding.subject.name for finding in (first, *others))}{what}"
        folded.append(replace(first, subject=subject, message=message, evidence=evidence) if others else first)
    return tuple(folded)


def _neighbours(left: Sequence[events.Node], place: int) -> Iterator[Goal]:
    """Those 1, 2, 4, ... places on in the ring: a few calls for each node, and each node is called as often."""
    step = 1
    while step < len(left):
        node = left[(place + step) % len(left)]
        yield Goal(node=node.node, port=node.data_port, addresses=node.addresses)
        step *= 2


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
