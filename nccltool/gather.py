"""Before remote nodes start ranks: who came, which address of node 0 all of them reach, and who takes part.

No I/O and no clock of its own. A host that cannot take part is named within COME_S or TRY_S.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nccltool import __version__, events, instructions
from nccltool.model import Finding, Job, Subject

FINDINGS: Mapping[str, str] = {
    "host-silent": "error",
    "host-twice": "error",
    "port-in-use": "error",
    "rdzv-unreachable": "error",
    "version-mismatch": "error",
}
COME_S = 15.0
"""In which a node process must speak: ssh gives up on a host after 10 s, and Python starts in one or two."""
TRY_S = 8.0
"""In which the others must have tried to reach node 0; each tries all addresses at once, for 5 s."""


@dataclass(slots=True)
class Gathering:
    """The meeting of the nodes. Feed it what is heard, ask `step` what to say."""

    job: Job
    hosts: Mapping[int, str]
    """Node to the host's name as the user wrote it; '' = not known before it speaks."""
    keep_going: bool
    begin: float
    came: dict[int, events.Node] = field(default_factory=dict)
    reached: dict[int, events.Reached] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    going: instructions.Go | None = None
    failed: bool = False
    _trying: instructions.Try | None = None

    def hear(self, event: events.Node | events.Reached) -> None:
        """Take in what a node says."""
        if isinstance(event, events.Node):
            self.came[event.node] = event
        else:
            self.reached[event.node] = event

    def lose(self, node: int, finding: Finding) -> None:
        """A node will not come."""
        if node not in self.lost:
            self.lost.add(node)
            if finding not in self.findings:
                self.findings.append(finding)

    def step(self, now: float) -> instructions.Instruction | None:
        """What to tell all nodes now, if anything. Sets `going` or `failed` in the end."""
        if self.going or self.failed:
            return None
        if self._trying is None:
            return self._when_all_came(now)
        return self._when_all_tried(now)

    def _when_all_came(self, now: float) -> instructions.Instruction | None:
        silent = [node for node in self.hosts if node not in self.came and node not in self.lost]
        if silent and now - self.begin < COME_S:
            return None
        for node in silent:
            self.lose(node, self._silent(node, COME_S))
        self._check_versions()
        self._check_twins()
        self._check_ports()
        if self._must_stop():
            return None
        return self._try(now)

    def _try(self, now: float) -> instructions.Instruction | None:
        first, *others = self._left()
        if not others:
            return self._go({})
        self.reached.clear()
        self._trying = instructions.Try(addresses=self._candidates(first), port=first.port)
        self.begin = now
        return self._trying

    def _when_all_tried(self, now: float) -> instructions.Instruction | None:
        first, *others = self._left()
        silent = [node for node in others if node.node not in self.reached]
        if silent and now - self.begin < TRY_S:
            return None
        for node in silent:
            self.lose(node.node, self._silent(node.node, TRY_S))
        cut_off = [node for node in others if node.node in self.reached and not self.reached[node.node].addresses]
        if len(cut_off) > 1 and len(cut_off) == len(others):
            self.lose(first.node, self._isolated(first, cut_off))
            return None if self._must_stop() else self._try(now)
        for node in cut_off:
            self.lose(node.node, self._unreachable(first, node))
        return None if self._must_stop() else self._go(self._addresses(first))

    def _go(self, addresses: Mapping[int, str]) -> instructions.Go | None:
        nproc = self._nproc()
        if nproc is None:
            self.failed = True
            return None
        first, *_ = left = self._left()
        places = {
            node.node: (rank, f"{_bracketed(addresses.get(node.node, '127.0.0.1'))}:{first.port}")
            for rank, node in enumerate(left)
        }
        self.going = instructions.Go(places=places, nproc_per_node=nproc)
        return self.going

    def _left(self) -> list[events.Node]:
        return [node for number, node in sorted(self.came.items()) if number not in self.lost]

    def _must_stop(self) -> bool:
        self.failed = not self._left() or (bool(self.findings) and not self.keep_going)
        return self.failed

    def _candidates(self, first: events.Node) -> tuple[str, ...]:
        host = self.job.endpoint.rpartition(":")[0].removeprefix("[").removesuffix("]")
        return (host,) if host else first.addresses

    def _addresses(self, first: events.Node) -> dict[int, str]:
        """Where each node reaches node 0: all at the same address if there is one that all reach."""
        assert self._trying is not None
        answers = {node.node: self.reached[node.node].addresses for node in self._left() if node is not first}
        common = [a for a in self._trying.addresses if all(a in reached for reached in answers.values())]
        return {node: common[0] if common else reached[0] for node, reached in answers.items()}

    def _nproc(self) -> int | None:
        """Ranks on each node: as asked for, or one for each GPU, or one."""
        if self.job.nproc_per_node is not None:
            return self.job.nproc_per_node
        by_count: dict[int, list[str]] = {}
        for node in self._left():
            by_count.setdefault(node.gpus, []).append(self.name(node.node))
        if len(by_count) == 1:
            return max(next(iter(by_count)), 1)
        told = "; ".join(f"{gpus} on {', '.join(hosts[:4])}" for gpus, hosts in sorted(by_count.items()))
        fewest = min(by_count.items(), key=lambda item: (len(item[1]), item[0]))
        self.findings.append(
            Finding(
                code="ranks-per-node",
                severity="error",
                subject=Subject(kind="host", name=fewest[1][0]),
                message=f"the nodes do not have equally many GPUs: {told}",
                remedy="leave the odd host out, or say --nproc-per-node N",
            )
        )
        return None

    def _check_versions(self) -> None:
        for node in self._left():
            if node.nccltool != __version__:
                finding = self._finding(
                    node.node,
                    "version-mismatch",
                    f"has nccltool {node.nccltool}, and this is {__version__}",
                    "install the same version there, or name the right one: --remote-python",
                )
                self.lose(node.node, finding)

    def _check_twins(self) -> None:
        seen: dict[str, events.Node] = {}
        for node in self._left():
            other = seen.setdefault(node.host_id, node)
            if other is not node:
                finding = self._finding(
                    node.node,
                    "host-twice",
                    f"is the same host as {self.name(other.node)}: both are {node.host}",
                    "does its name lead to a loopback address here? getent hosts " + self.name(node.node),
                )
                self.lose(node.node, finding)

    def _check_ports(self) -> None:
        for node in self._left()[:1]:
            if not node.port:
                self.lose(node.node, self._finding(node.node, "port-in-use", node.problem, "choose another port"))

    def _silent(self, node: int, seconds: float) -> Finding:
        return self._finding(
            node,
            "host-silent",
            f"said nothing for {seconds:.0f} s: its Python does not start, or it waits for a file system",
            "try what was started there by hand; look at its file systems and load",
        )

    def _unreachable(self, first: events.Node, node: events.Node) -> Finding:
        return self._finding(
            node.node,
            "rdzv-unreachable",
            f"cannot reach node 0 ({self.name(first.node)}) at port {first.port}",
            "look at the firewalls of both hosts and the routes between them",
            self.reached[node.node].failures,
        )

    def _isolated(self, first: events.Node, others: Sequence[events.Node]) -> Finding:
        return self._finding(
            first.node,
            "rdzv-unreachable",
            f"is node 0, and none of the {len(others)} other nodes can reach it at port {first.port}",
            f"look at the firewall and the interfaces of {self.name(first.node)}",
            self.reached[others[0].node].failures,
        )

    def name(self, node: int) -> str:
        """The host as the user knows it."""
        return self.hosts.get(node) or (self.came[node].host if node in self.came else f"node {node}")

    def _finding(self, node: int, code: str, what: str, remedy: str, evidence: Sequence[str] = ()) -> Finding:
        return Finding(
            code=code,
            severity="error",
            subject=Subject(kind="host", name=self.name(node)),
            message=f"{self.name(node)} {what}",
            evidence=tuple(evidence),
            remedy=remedy,
        )


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
