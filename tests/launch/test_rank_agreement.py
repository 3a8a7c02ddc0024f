"""Who came: each finding fires where it must and is silent beside it."""

from collections.abc import Sequence
from typing import Any

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.launch import rank_agreement as judged
from nccltool.launch.events import RankFacts
from nccltool.launch.job import Job
from tests.samples import facts, job, world

REAL = job(emulated=False)
ONE_NODE = job(nodes=1, nproc_per_node=4)
TOLD_NOTHING = job(nodes=None, nproc_per_node=None)


def one_node(ranks: int) -> list[RankFacts]:
    return [facts(rank, node_rank=0, host="alpha", host_id="a") for rank in range(ranks)]


@pytest.mark.parametrize(
    ("wanted", "ranks"),
    [
        pytest.param(REAL, world(), id="two hosts"),
        pytest.param(TOLD_NOTHING, world(), id="a job of a launcher"),
        pytest.param(ONE_NODE, one_node(4), id="one host"),
        pytest.param(job(), world(gpu=None, nccl=None), id="no GPUs"),
        pytest.param(
            job(), world(host="alpha", host_id="a", host_addresses=("127.0.1.1",)), id="its own name on loopback"
        ),
        pytest.param(REAL, world(host_addresses=None), id="names that do not resolve"),
        pytest.param(REAL, world(host_addresses=("127.0.1.1", "192.0.2.1")), id="names with one good address"),
    ],
)
def test_nothing_is_found_in_a_healthy_world(wanted: Job, ranks: Sequence[RankFacts]) -> None:
    assert judged.check(wanted, sorted(ranks, key=lambda one: one.rank)) == ()


def found(severity: Any, code: str, kind: Any, name: str, message: str, remedy: str, *evidence: str) -> Finding:
    subject = Subject(kind=kind, name=name)
    return Finding(
        code=code, severity=severity, subject=subject, message=message, remedy=remedy, evidence=evidence
    )


def error(code: str, kind: Any, name: str, message: str, remedy: str, *evidence: str) -> Finding:
    return found("error", code, kind, name, message, remedy, *evidence)


def warning(code: str, kind: Any, name: str, message: str, remedy: str, *evidence: str) -> Finding:
    return found("warning", code, kind, name, message, remedy, *evidence)


NODES_REMEDY = "check whether the missing nodes were started, use the same endpoint, and have correct clocks"
RANKS_REMEDY = "start the same command with the same options on every node"
NPROC_REMEDY = (
    "start the same number of ranks on each node: --nproc-per-node N, srun --ntasks-per-node=N, "
    "mpirun --map-by ppr:N:node, or mpiexec -ppn N"
)
ALONE = "world size 1: no data crosses a link, so bus bandwidth is 0"
ALONE_REMEDY = "use --nodes 2 or --nproc-per-node 2; in a launched job, find out why each rank is alone"
LOOPBACK = "Gloo and MASTER_ADDR would give other hosts this address, where nothing answers"


@pytest.mark.parametrize(
    ("wanted", "ranks", "findings"),
    [
        pytest.param(
            job(nodes=3),
            world(),
            [
                error(
                    "world-size",
                    "run",
                    "world",
                    "expected 3 nodes, got 2: alpha, beta",
                    NODES_REMEDY,
                    "world size 4",
                )
            ],
            id="a node is missing",
        ),
        pytest.param(
            REAL,
            one_node(2),
            [
                error(
                    "world-size",
                    "run",
                    "world",
                    "expected 2 nodes, got 1: alpha",
                    NODES_REMEDY,
                    "world size 2",
                )
            ],
            id="the other half runs alone elsewhere",
        ),
        pytest.param(
            job(nproc_per_node=4),
            world(),
            [
                error("world-size", "run", "world", "expected 2 x 4 ranks, got 4: alpha, beta", RANKS_REMEDY),
                error(
                    "ranks-per-node",
                    "host",
                    "alpha",
                    "node 0 (alpha) has 2 ranks, but the others have 4",
                    NPROC_REMEDY,
                ),
                error(
                    "ranks-per-node",
                    "host",
                    "beta",
                    "node 1 (beta) has 2 ranks, but the others have 4",
                    NPROC_REMEDY,
                ),
            ],
            id="fewer ranks than asked for",
        ),
        pytest.param(
            TOLD_NOTHING,
            [facts(0), facts(1), facts(2), facts(3), facts(4)],
            [
                error(
                    "ranks-per-node",
                    "host",
                    "gamma",
                    "node 2 (gamma) has 1 rank, but the others have 2",
                    NPROC_REMEDY,
                )
            ],
            id="unequal nodes",
        ),
        pytest.param(
            TOLD_NOTHING,
            [facts(0)],
            [error("world-of-one", "rank", "0", ALONE, ALONE_REMEDY)],
            id="alone in a job",
        ),
        pytest.param(
            job(nodes=1, nproc_per_node=1),
            [facts(0)],
            [warning("world-of-one", "rank", "0", ALONE, ALONE_REMEDY)],
            id="alone as asked for",
        ),
        pytest.param(
            REAL,
            [facts(0), facts(1), facts(2, nccl="2.27.3"), facts(3, nccl="2.27.3")],
            [
                error(
                    "version-mismatch",
                    "host",
                    "alpha",
                    "nccl differs between ranks: 2.27.3 on beta; 2.29.7 on alpha",
                    "install the same nccl on every host",
                )
            ],
            id="two NCCLs",
        ),
        pytest.param(
            REAL,
            [facts(rank, nccl=("2.22.3", "2.27.3")[rank // 2], has_rccl=True) for rank in range(4)],
            [
                error(
                    "version-mismatch",
                    "host",
                    "alpha",
                    "rccl differs between ranks: 2.22.3 on alpha; 2.27.3 on beta",
                    "install the same rccl on every host",
                )
            ],
            id="two RCCLs",
        ),
        pytest.param(
            REAL,
            [facts(0), facts(1), facts(2), facts(3, torch="2.9.1")],
            [
                error(
                    "version-mismatch",
                    "host",
                    "beta",
                    "torch differs between ranks: 2.13.0 on alpha, beta; 2.9.1 on beta",
                    "install the same torch on every host",
                )
            ],
            id="two torches",
        ),
        pytest.param(
            REAL,
            [facts(0, nccltool="0.0.9"), *world()[1:]],
            [
                error(
                    "version-mismatch",
                    "host",
                    "alpha",
                    "nccltool differs between ranks: 0.0.9 on alpha; 0.1.0 on alpha, beta",
                    "install the same nccltool on every host",
                )
            ],
            id="two of ours",
        ),
        pytest.param(
            REAL,
            [facts(0), facts(1), facts(2), facts(3, nccl=None)],
            [
                error(
                    "version-mismatch",
                    "host",
                    "beta",
                    "nccl differs between ranks: 2.29.7 on alpha, beta; None on beta",
                    "install the same nccl on every host",
                )
            ],
            id="one torch without NCCL",
        ),
        pytest.param(
            REAL,
            [facts(0), facts(1), facts(2), facts(3, python="3.12.1")],
            [
                warning(
                    "version-mismatch",
                    "host",
                    "beta",
                    "python differs between ranks: 3.11.4 on alpha, beta; 3.12.1 on beta",
                    "install the same python on every host",
                )
            ],
            id="two Pythons",
        ),
        pytest.param(
            REAL,
            [facts(0), facts(1), facts(2, host_addresses=("127.0.1.1",)), facts(3, host_addresses=("127.0.1.1",))],
            [
                warning(
                    "loopback-hostname",
                    "host",
                    "beta",
                    "the name beta resolves to 127.0.1.1 on its own host",
                    "map beta to its network address in /etc/hosts or set GLOO_SOCKET_IFNAME",
                    LOOPBACK,
                )
            ],
            id="a name on 127.0.1.1",
        ),
        pytest.param(
            REAL,
            world(host_addresses=("::1",)),
            [
                warning(
                    "loopback-hostname",
                    "host",
                    host,
                    f"the name {host} resolves to ::1 on its own host",
                    f"map {host} to its network address in /etc/hosts or set GLOO_SOCKET_IFNAME",
                    LOOPBACK,
                )
                for host in ("alpha", "beta")
            ],
            id="both names on ::1",
        ),
    ],
)
def test_findings(wanted: Job, ranks: Sequence[RankFacts], findings: list[Finding]) -> None:
    assert list(judged.check(wanted, ranks)) == findings


@pytest.mark.parametrize(
    ("ranks", "emulated"),
    [
        (world(), False),
        (world(host="alpha", host_id="a"), True),
        (one_node(4), False),
        ([*world(), facts(4, node_rank=2, host="beta", host_id="boot-b net:[1]")], True),
    ],
)
def test_nodes_that_share_a_host_are_emulated(ranks: Sequence[RankFacts], emulated: bool) -> None:
    assert judged.is_emulated(ranks) is emulated


@pytest.mark.parametrize(
    ("clocks", "messages"),
    [
        ((0.0, 0.1, 0.0, 0.2), []),
        ((0.0, 0.0, 4.9, 4.9), []),
        ((1000.0, 1000.0, 980.0, 980.0), ["the clock of beta is 20 s behind the other host"]),
        ((1000.0, 1000.0, 1060.0, 1060.0), ["the clock of alpha is 60 s behind the other host"]),
    ],
)
def test_clocks_of_two_hosts(clocks: tuple[float, ...], messages: list[str]) -> None:
    assert [finding.message for finding in judged.clock_findings(world(), clocks)] == messages


def test_the_clock_that_is_away_from_the_others() -> None:
    ranks = [facts(rank, node_rank=rank, host=name, host_id=name) for rank, name in enumerate(("a", "b", "c"))]
    (finding,) = judged.clock_findings(ranks, (500.0, 560.4, 500.1))
    assert finding == warning(
        "clock-skew",
        "host",
        "b",
        "the clock of b is 60 s ahead of the other hosts",
        "start chrony or ntpd: torchrun's c10d rendezvous silently drops a node that is 15 s behind",
        "limit 5 s: the keep-alive interval of torch elastic",
    )
