"""One command on each of several hosts: a real network between them, and its numbers are not emulated."""

import json
import re

import pytest

from nccltool.probe import collectives
from tests.lab.conftest import PORT, Start, join
from tests.lab.lab import Lab
from tests.support.commands import NCCLTOOL, TORCHRUN, Ended, until

pytestmark = pytest.mark.lab

LIMIT_S = 120.0
QUICK = ("--sizes", "1KiB,64KiB", "-n", "4", "--timeout", "20")
JSON = ("--format", "json")


def assert_measured(ended: Ended, hosts: list[str], world: int) -> None:
    """The result on standard output is complete and right."""
    assert ended.code == 0, ended.said
    document = json.loads(ended.stdout)
    run = document["run"]
    assert (document["status"], ended.problems) == ("pass", [])
    assert (run["nodes"], run["world_size"], run["emulated"], run["hosts"]) == (len(hosts), world, False, hosts)
    rows = [(row["op"], row["bytes"], row["wrong"]) for row in document["measurements"]]
    assert rows == [(op, size, 0) for op in collectives.IN_ALL for size in (1024, 65536)]
    assert ended.document == document


def assert_followed(ended: Ended) -> None:
    """A command whose rank 0 is elsewhere says nothing when all went well."""
    assert (ended.code, ended.stdout, ended.stderr) == (0, "", ""), ended.said


@pytest.mark.parametrize("nproc", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_two_hosts(lab: Lab, start: Start, nproc: int) -> None:
    words = (*QUICK, *JSON, "--nproc-per-node", str(nproc))
    first, second = (start(host, join(rank, 2, *words)) for rank, host in enumerate(lab.hosts))
    assert_measured(first.wait(LIMIT_S), ["n1", "n2"], 2 * nproc)
    assert_followed(second.wait(LIMIT_S))
    assert lab.quiet()


@pytest.mark.slow
def test_four_hosts(lab_of_four: Lab, start: Start) -> None:
    first, *others = [start(host, join(rank, 4, *QUICK, *JSON)) for rank, host in enumerate(lab_of_four.hosts)]
    assert_measured(first.wait(LIMIT_S), ["n1", "n2", "n3", "n4"], 4)
    for other in others:
        assert_followed(other.wait(LIMIT_S))
    assert lab_of_four.quiet()


@pytest.mark.slow
def test_the_table_does_not_say_emulated(lab: Lab, start: Start) -> None:
    words = (*QUICK, "--op", "broadcast")
    first, second = (start(host, join(rank, 2, *words)) for rank, host in enumerate(lab.hosts))
    ended = first.wait(LIMIT_S)
    assert ended.code == 0, ended.said
    assert "\n2 nodes on n[1-2], 2 ranks, " in ended.stdout
    assert "emulated" not in ended.stdout.lower()
    assert_followed(second.wait(LIMIT_S))


@pytest.mark.slow
def test_node_1_comes_first(lab: Lab, start: Start) -> None:
    one, two = lab.hosts
    second = start(two, join(1, 2, *QUICK, *JSON))
    assert until(lambda: len(second.living()) >= 3, LIMIT_S)  # command, node process, agent
    first = start(one, join(0, 2, *QUICK, *JSON))
    assert_measured(first.wait(LIMIT_S), ["n1", "n2"], 2)
    assert_followed(second.wait(LIMIT_S))
    assert lab.quiet()


def test_torchrun_on_each_host(lab: Lab, start: Start) -> None:
    place = ("--nnodes", "2", "--nproc-per-node", "1", "--rdzv-id", "lab", "--rdzv-backend", "c10d")
    argv = (*TORCHRUN, *place, "--rdzv-endpoint", f"n1:{PORT}", "-m", *NCCLTOOL[2:], "probe", *QUICK, *JSON)
    results = [command.wait(LIMIT_S) for command in [start(host, (*argv, "--nodes", "2")) for host in lab.hosts]]
    assert [result.code for result in results] == [0, 0], results[0].said + results[1].said
    (shown,) = [result for result in results if result.stdout]  # rank 0 is on the host that came first
    assert sorted(json.loads(shown.stdout)["run"]["hosts"]) == ["n1", "n2"]
    assert json.loads(shown.stdout)["run"]["emulated"] is False
    assert lab.quiet()


# ---- names and addresses


@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_name_that_is_loopback_on_its_own_host(lab: Lab, start: Start, number: int) -> None:
    """Debian's default. Gloo would hand out 127.0.1.1; the run takes the interface that leads to the others."""
    culprit = lab.hosts[number]
    culprit.knows({**{host.name: host.address for host in lab.hosts}, culprit.name: "127.0.1.1"})
    first, second = (start(host, join(rank, 2, *QUICK)) for rank, host in enumerate(lab.hosts))
    ended = first.wait(LIMIT_S)
    assert (ended.code, ended.document["status"]) == (0, "warn"), ended.said
    (finding,) = ended.problems
    assert (finding["code"], finding["severity"]) == ("loopback-hostname", "warning")
    assert finding["subject"] == {"kind": "host", "name": culprit.name}
    assert finding["message"] == f"the name {culprit.name} resolves to 127.0.1.1 on its own host"
    assert len(ended.document["measurements"]) == 2 * len(collectives.IN_ALL)
    assert_followed(second.wait(LIMIT_S))


def test_a_clock_that_is_a_minute_behind(lab: Lab, start: Start) -> None:
    one, two = lab.hosts
    behind = ("faketime", "-f", "-60s")
    first = start(one, join(0, 2, *QUICK))
    second = start(two, (*behind, *join(1, 2, *QUICK)))
    ended = first.wait(LIMIT_S)
    assert (ended.code, ended.document["status"]) == (0, "warn"), ended.said
    assert {problem["code"] for problem in ended.problems} <= {
        "clock-skew",
        "env-differs",
    }  # faketime's own variables
    finding = ended.findings["clock-skew"]
    assert finding["subject"] == {"kind": "host", "name": "n2"}
    assert re.fullmatch(r"the clock of n2 is (59|60|61) s behind the other host", finding["message"])
    assert len(ended.document["measurements"]) == 2 * len(collectives.IN_ALL)
    assert_followed(second.wait(LIMIT_S))


@pytest.mark.slow
def test_torchrun_that_drops_a_host_whose_clock_is_behind(lab: Lab, start: Start) -> None:
    """c10d leaves n2 out without a word and n1 is alone: that must never look like a result."""
    one, two = lab.hosts
    place = ("--nnodes", "2", "--nproc-per-node", "1", "--rdzv-id", "lab", "--rdzv-backend", "c10d")
    conf = ("--rdzv-conf", "join_timeout=20,read_timeout=10")
    probe = ("-m", *NCCLTOOL[2:], "probe", "--nodes", "2", *QUICK, "--op", "broadcast")
    argv = (*TORCHRUN, *place, *conf, "--rdzv-endpoint", f"n1:{PORT}", *probe)
    first, second = start(one, argv), start(two, ("faketime", "-f", "-60s", *argv))
    alone, dropped = first.wait(LIMIT_S), second.wait(LIMIT_S)
    assert alone.code != 0, alone.said
    assert dropped.code != 0, dropped.said
    assert "ERROR world-size: expected 2 nodes, got 1: n1\n" in alone.stdout
    assert alone.stdout.startswith("INCOMPLETE 0 rows: nothing was measured; ")
    assert lab.quiet()
