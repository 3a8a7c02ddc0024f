"""What stages get: which hosts are left, whose drill it is, and how much time there is."""

import time
from typing import Any

import pytest

from nccltool.hosts.facts import HostFacts, Nvidia
from nccltool.launch import fault_injection
from nccltool.launch.host_survey import Survey
from nccltool.launch.start_costs import Started
from nccltool.preflight import stages, suite_reader
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stages.base import StageContext
from tests.preflight.stages.test_contract import context, lines


def failed(host: str) -> CheckOutcome:
    return CheckOutcome(check=Check(stage="doctor", name="X"), host=host, status="fail", shown="alone")


@pytest.mark.parametrize(("keep_going", "left"), [(False, "n1,n2,n3"), (True, "n1,n3")])
def test_hosts_that_failed_are_left_out_when_the_others_are_to_go_on(keep_going: bool, left: str) -> None:
    (across,) = lines("across", keep_going=keep_going, outcomes=[failed("n2")])
    assert f"--hosts {left} " in across


@pytest.mark.parametrize(
    ("drill", "command", "nodes", "nproc", "expected"),
    [
        ("", "probe", (0, 1), 2, ""),
        ("corrupt:rank=3,op=all_reduce", "probe", (0, 1), 2, "corrupt:rank=3,op=all_reduce"),
        ("corrupt:rank=3", "probe", (1,), 2, "corrupt:rank=1"),
        ("corrupt:rank=3", "probe", (0,), 2, ""),
        ("corrupt", "probe", (1, 2), 1, "corrupt:rank=0"),
        ("corrupt:rank=2", "probe", (0, 2), 1, "corrupt:rank=1"),
        ("sum:rank=0", "probe", (0, 1), 1, ""),
        ("sum:rank=0", "train", (0, 1), 1, "sum:rank=0"),
    ],
)
def test_a_drill_goes_with_its_host(
    drill: str, command: str, nodes: tuple[int, ...], nproc: int, expected: str
) -> None:
    there = context(3, nproc, remote=True, fault=fault_injection.parse(drill))
    assert there.call("x", (command,), nodes).fault == fault_injection.parse(expected)


def test_the_time_that_is_left_is_the_limit_of_a_run() -> None:
    end = time.monotonic() + 50
    assert context(end=end).call("x", ("probe",), (0,)).end == end
    assert context().call("x", ("probe",), (0,)).end > end


@pytest.mark.parametrize(
    ("nodes", "nproc", "gpus", "remote", "inventory", "within", "across", "train"),
    [
        (2, 1, 0, False, 0.5, 0.0, 6.0, 5.8),
        (1, 8, 8, False, 0.5, 15.5, 0.0, 18.2),
        (2, None, 8, True, 2.5, 17.5, 19.7, 20.2),
        (64, None, 8, True, 3.8, 35.0, 22.8, 24.7),  # 32 hosts at once inside
        (512, None, 8, True, 12.7, 280.1, 45.0, 56.6),
    ],
)
def test_how_long_healthy_hosts_take(
    nodes: int,
    nproc: int | None,
    gpus: int,
    remote: bool,
    inventory: float,
    within: float,
    across: float,
    train: float,
) -> None:
    suite = suite_reader.read(suite_reader.find("preflight"))
    there = context(nodes, nproc, remote=remote, suite=suite, assumed_gpus=gpus)
    about = {
        stage.name: round(stage.about_s(there, suite.parts.get(stage.name)), 1)
        for stage in stages.every()
        if stage.name in ("inventory", "within", "across", "train")
    }
    assert about == {"inventory": inventory, "within": within, "across": across, "train": train}


def of_gpus(*counts: int, hosts: tuple[str, ...] = ("n1", "n2"), **changes: Any) -> StageContext:
    """Nodes on these hosts, which have so many GPUs."""
    there = context(len(counts), remote=True, **changes)
    there.hosts = dict(enumerate(hosts))
    facts = (HostFacts(host=name, nvidia=Nvidia(visible_gpus=n)) for name, n in zip(hosts, counts, strict=True))
    there._survey = Survey(hosts=there.hosts, snapshots=dict(enumerate(facts)))
    return there


@pytest.mark.parametrize(
    ("counts", "changes", "ranks", "on_gpus"),
    [
        ((8, 8), {"nproc": None}, 8, True),
        ((8, 8), {"nproc": 4}, 4, True),
        ((4, 4), {"nproc": 8}, 8, False),
        ((8, 8), {"nproc": 4, "hosts": ("n1", "n1")}, 4, True),
        ((8, 8), {"nproc": 5, "hosts": ("n1", "n1")}, 5, False),
        ((0, 0), {"nproc": None}, 1, False),
        ((8, 7), {"nproc": None}, None, True),
        ((8, 7), {"nproc": None, "backend": "gloo"}, 7, False),
        ((8, 8), {"nproc": None, "backend": "gloo"}, 8, False),
    ],
)
def test_ranks_and_whether_they_are_on_gpus(
    counts: tuple[int, ...], changes: dict[str, Any], ranks: int | None, on_gpus: bool
) -> None:
    there = of_gpus(*counts, **changes)
    assert (there.nproc, there.on_gpus) == (ranks, on_gpus)


def test_each_of_thousands_of_hosts_is_looked_at_once() -> None:
    """And not once for each host, which took a second."""
    there = of_gpus(*[8] * 3000, hosts=tuple(f"n{number}" for number in range(3000)), nproc=None)
    begin = time.process_time()
    assert there.started() == Started(hosts=3000, per_host=8, gpus=True, remote=True)
    assert time.process_time() - begin < 0.3
