"""JUDGE who came, before anything is timed: every difference that would spoil the numbers is a finding."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import counted, named
from nccltool.launch import finding_kinds
from nccltool.launch.events import RankFacts
from nccltool.launch.job import Job

CLOCK_TOLERANCE_S = 5.0
"""torch elastic's keep-alive interval; its c10d rendezvous drops a node that is three of them behind
(torch 2.13, dynamic_rendezvous.py)."""

_SHOWN = 8
"""An event must fit 4 KiB."""


def check(job: Job, ranks: Sequence[RankFacts]) -> tuple[Finding, ...]:
    """Findings about the world; severity error means: do not measure."""
    return (
        *_world_size(job, ranks),
        *_ranks_per_node(job, ranks),
        *_world_of_one(job, ranks),
        *_versions(ranks),
        *_loopback_names(ranks),
    )


def numbered(ranks: Sequence[RankFacts]) -> tuple[RankFacts, ...]:
    """The ranks with a number for each node: where a launcher gave none, its nodes are the hosts."""
    if all(facts.node_rank >= 0 for facts in ranks):
        return tuple(ranks)
    hosts: dict[str, int] = {}
    return tuple(replace(facts, node_rank=hosts.setdefault(facts.host_id, len(hosts))) for facts in ranks)


def is_emulated(ranks: Sequence[RankFacts]) -> bool:
    """Whether several nodes are on one host."""
    return len({facts.node_rank for facts in ranks}) > len({facts.host_id for facts in ranks})


def clock_findings(ranks: Sequence[RankFacts], clocks: Sequence[float]) -> tuple[Finding, ...]:
    """Hosts whose clock is away from the middle one. `clocks`: seconds since the epoch, read by every
    rank right after the same collective, so that they agree but for its skew."""
    middle = sorted(clocks)[len(clocks) // 2]
    by_host: dict[str, float] = {}
    for facts, clock in zip(ranks, clocks, strict=True):
        by_host.setdefault(facts.host, clock - middle)
    reference = "the other hosts" if len(by_host) > 2 else "the other host"
    return tuple(
        finding_kinds.CLOCK_SKEW.finding(
            subject=Subject(kind="host", name=host),
            message=f"the clock of {host} is {abs(off):.0f} s {'behind' if off < 0 else 'ahead of'} {reference}",
            evidence=(f"limit {CLOCK_TOLERANCE_S:.0f} s: the keep-alive interval of torch elastic",),
            remedy="start chrony or ntpd: torchrun's c10d rendezvous silently drops a node that is 15 s behind",
        )
        for host, off in by_host.items()
        if abs(off) > CLOCK_TOLERANCE_S
    )


def _world_size(job: Job, ranks: Sequence[RankFacts]) -> Iterable[Finding]:
    seen = len(ranks)
    nodes = len({facts.node_rank for facts in ranks})
    if job.nodes is not None and nodes != job.nodes:
        yield finding_kinds.WORLD_SIZE.finding(
            subject=Subject(kind="run", name="world"),
            message=f"expected {job.nodes} nodes, got {nodes}: {_hosts(ranks)}",
            evidence=(f"world size {seen}",),
            remedy="check whether the missing nodes were started, use the same endpoint, and have correct clocks",
        )
    elif job.nodes and job.nproc_per_node and seen != job.nodes * job.nproc_per_node:
        yield finding_kinds.WORLD_SIZE.finding(
            subject=Subject(kind="run", name="world"),
            message=f"expected {job.nodes} x {job.nproc_per_node} ranks, got {seen}: {_hosts(ranks)}",
            remedy="start the same command with the same options on every node",
        )


def _ranks_per_node(job: Job, ranks: Sequence[RankFacts]) -> Iterable[Finding]:
    counts = Counter(facts.node_rank for facts in ranks)
    usual = job.nproc_per_node or Counter(counts.values()).most_common(1)[0][0]
    hosts = {facts.node_rank: facts.host for facts in ranks}
    for node, count in sorted(counts.items()):
        if count != usual:
            yield finding_kinds.RANKS_PER_NODE.finding(
                subject=Subject(kind="host", name=hosts[node]),
                message=f"node {node} ({hosts[node]}) has {counted(count, 'rank')}, but the others have {usual}",
                remedy="start the same number of ranks on each node: --nproc-per-node N, srun "
                "--ntasks-per-node=N, "
                "mpirun --map-by ppr:N:node, or mpiexec -ppn N",
            )


def _world_of_one(job: Job, ranks: Sequence[RankFacts]) -> Iterable[Finding]:
    if len(ranks) != 1:
        return
    wanted = (job.nodes, job.nproc_per_node) == (1, 1)
    yield finding_kinds.WORLD_OF_ONE.finding(
        severity="warning" if wanted else "error",
        subject=_rank(ranks[0]),
        message="world size 1: no data crosses a link, so bus bandwidth is 0",
        remedy="use --nodes 2 or --nproc-per-node 2; in a launched job, find out why each rank is alone",
    )


def _versions(ranks: Sequence[RankFacts]) -> Iterable[Finding]:
    for what in ("nccltool", "torch", "nccl", "python"):
        holders: dict[str, list[RankFacts]] = defaultdict(list)
        for facts in ranks:
            holders[str(getattr(facts, what))].append(facts)
        if len(holders) < 2:
            continue
        minority = min(holders.values(), key=len)
        # NCCL's wire protocol and our own events change between releases; a Python patch release does not matter
        severe = what in ("nccl", "nccltool", "torch")
        name = "rccl" if what == "nccl" and all(facts.has_rccl for facts in ranks) else what
        yield finding_kinds.VERSION_MISMATCH.finding(
            severity="error" if severe else "warning",
            subject=Subject(kind="host", name=minority[0].host),
            message=f"{name} differs between ranks: "
            + named((f"{version} on {_hosts(facts)}" for version, facts in sorted(holders.items())), _SHOWN, "; "),
            remedy=f"install the same {name} on every host",
        )


def _loopback_names(ranks: Sequence[RankFacts]) -> Iterable[Finding]:
    if len({facts.host_id for facts in ranks}) < 2:
        return
    seen: set[str] = set()
    for facts in ranks:
        addresses = facts.host_addresses
        if facts.host in seen or not addresses or not all(a.startswith("127.") or a == "::1" for a in addresses):
            continue
        seen.add(facts.host)
        yield finding_kinds.LOOPBACK_HOSTNAME.finding(
            subject=Subject(kind="host", name=facts.host),
            message=f"the name {facts.host} resolves to {named(addresses, _SHOWN)} on its own host",
            evidence=("Gloo and MASTER_ADDR would give other hosts this address, where nothing answers",),
            remedy=f"map {facts.host} to its network address in /etc/hosts or set GLOO_SOCKET_IFNAME",
        )


def _rank(facts: RankFacts) -> Subject:
    return Subject(kind="rank", name=str(facts.rank))


def _hosts(ranks: Iterable[RankFacts]) -> str:
    return named(sorted({facts.host for facts in ranks}), _SHOWN)
