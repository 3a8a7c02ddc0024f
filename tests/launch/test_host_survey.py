"""Looking at several hosts at once, from real far ends that behave and misbehave on this one."""

import sys
import time
from collections.abc import Callable, Sequence

import pytest

from nccltool.hosts.facts import HostFacts
from nccltool.hosts.sources import tcp_calls, tcp_table
from nccltool.launch import events, host_survey, own_end
from nccltool.launch.events import Node
from nccltool.launch.fact_pieces import pieces
from nccltool.launch.host_survey import ALL_TO_ALL, Survey, calls
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import WORKER, Command, NodeCommands
from nccltool.launch.reach import ssh_client
from nccltool.launch.standstill import Standstill

FACTS, REACH = Job(run_id="x", kind="facts"), Job(run_id="x", kind="reach")
REFUSED = "import sys; sys.stderr.write('ssh: connect to host n2 port 22: Connection refused'); sys.exit(255)"
GOOD = (sys.executable, *WORKER)


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """How busy this machine is does not matter here."""
    monkeypatch.setattr(host_survey, "slowness", lambda: 1.0)


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", text)


def node(number: int) -> Node:
    return Node(
        node=number,
        host=f"h{number}",
        host_id="",
        nccltool="",
        gpus=0,
        addresses=(f"10.0.0.{number}",),
        port=7,
        data_port=8,
    )


COMES = [events.encode(event) for event in (node(0), *pieces(0, HostFacts(host="n1")))]
QUICK = program(f"import os, time; os.write(1, {b''.join(COMES)!r}); time.sleep(600)")
"""Says what a node process says, at once: where the other host is what is looked at."""


def taken(
    *argvs: Sequence[str], job: Job = REACH, limit_s: float = 30.0, stop: Callable[[], bool] = lambda: False
) -> Survey:
    commands = tuple(Command(argv=tuple(argv), nodes=(i,), host=f"n{i + 1}") for i, argv in enumerate(argvs))
    launch = NodeCommands(launcher="ssh", why="a test", commands=commands, remote=True, explain=ssh_client.explain)
    return host_survey.take(launch, job, launch.shown_names(), limit_s, stop)


def test_every_host_sends_its_facts() -> None:
    seen = taken(GOOD, GOOD, job=FACTS)
    assert (seen.findings, seen.calls, seen.nodes) == ((), (), {})
    assert list(seen.snapshots) == [0, 1]
    assert all(isinstance(facts, HostFacts) and facts.host for facts in seen.snapshots.values())


def test_hosts_that_come_call_each_other() -> None:
    seen = taken(GOOD, GOOD)
    assert (seen.lost, sorted(seen.snapshots), sorted(seen.nodes)) == ({}, [0, 1], [0, 1])
    wanted = {(caller, goal.node, goal.port) for caller, goal in seen.calls}
    assert wanted == {(one.node, one.goal, one.port) for one in seen.reached}
    assert {(caller, goal) for caller, goal, _ in wanted} == {(0, 1), (1, 0)}
    assert len(wanted) == 3  # each calls the other where ranks talk, and node 1 calls where they meet


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit('no module')", "host-misconfigured"),
        (REFUSED, "host-refused"),
    ],
    ids=["fails", "refuses"],
)  # fmt: skip
def test_who_does_not_come_is_named(text: str, code: str) -> None:
    seen = taken(QUICK, program(text), limit_s=4.0)
    assert {node: finding.code for node, finding in seen.lost.items()} == {1: code}
    assert sorted(seen.snapshots) == [0]
    assert seen.calls == ()


HANGS = program("import time; time.sleep(600)")


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (program("raise SystemExit('no module')"), "host-misconfigured",
         "n2 sent no facts: the process there ended (exit code 1)"),
        (program("raise SystemExit(0)"), "host-misconfigured",
         "n2 sent no facts: the process there ended (exit code 0)"),
        (HANGS, "host-silent", "n2 sent no facts within 1 s"),
        (program(REFUSED), "host-refused", "n2 cannot be used: no sshd answers on this port"),
        (program("import os, time; os.write(1, b'\\x1e{\"event\":\"facts\",\"node\":1,\"number\":0,\"of\":1,"
                 "\"text\":\"AA==\"}\\n'); time.sleep(600)"),
         "host-silent", "n2 sent unreadable facts"),
    ],
    ids=["fails", "says nothing and ends", "hangs", "refuses", "sends what is damaged"],
)  # fmt: skip
def test_who_sends_no_facts_is_named(
    argv: Sequence[str], code: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_survey, "COME_S", 1.0)
    seen = taken(QUICK, argv, job=FACTS)
    assert list(seen.snapshots) == [0]
    (finding,) = seen.findings
    assert (finding.code, finding.subject.name) == (code, "n2")
    assert finding.message.startswith(message)


def test_who_hangs_is_named_after_the_time_that_a_host_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_survey, "COME_S", 1.0)
    seen = taken(QUICK, HANGS)
    assert {node: finding.code for node, finding in seen.lost.items()} == {1: "host-silent"}
    assert (sorted(seen.snapshots), seen.unseen) == ([0], {})


@pytest.mark.parametrize("stopped", [True, False], ids=["interrupted", "budget"])
def test_who_was_not_waited_for_is_not_missing(stopped: bool) -> None:
    end = time.monotonic() + 0.5
    stop = (lambda: time.monotonic() > end) if stopped else (lambda: False)
    seen = taken(QUICK, HANGS, limit_s=30.0 if stopped else 0.5, stop=stop)
    why = "interrupted before it answered" if stopped else "the budget ran out before it answered"
    assert (seen.lost, seen.unseen.get(1)) == ({}, why)


def test_it_ends_when_it_is_told_to() -> None:
    hang = Command(argv=program("import time; time.sleep(600)"), nodes=(0,), host="n1")
    launch = NodeCommands(launcher="ssh", why="a test", commands=(hang,), remote=True)
    begin = time.monotonic()
    host_survey.take(launch, REACH, {0: "n1"}, stop=lambda: time.monotonic() > begin + 0.5)
    assert time.monotonic() < begin + host_survey.COME_S


def test_one_host_stands_for_all_nodes_that_are_its_processes() -> None:
    seen = host_survey.here({0: "here", 1: "here"})
    assert seen.snapshots[0] is seen.snapshots[1]
    assert (seen.calls, seen.lost) == ((), {})


@pytest.mark.parametrize(
    ("hosts", "each"), [(1, 0), (2, 1), (5, 4), (ALL_TO_ALL, ALL_TO_ALL - 1), (ALL_TO_ALL + 1, 5), (256, 8)]
)
def test_who_calls_whom(hosts: int, each: int) -> None:
    made = list(calls([node(number) for number in range(hosts)]))
    data = [(caller, goal.node) for caller, goal in made if goal.port == 8]
    store = [caller for caller, goal in made if goal.port == 7]
    assert len(data) == len(set(data)) == hosts * each
    assert all(caller != goal for caller, goal in data)
    assert sorted(store) == list(range(1, hosts))
    assert all(goal.addresses[0] == f"h{goal.node}" for _, goal in made)  # its name comes first
    for number in range(hosts):  # each is called as often
        assert sum(goal == number for _, goal in data) == each


class Stopped(Standstill):
    """The command was stopped, and has just gone on."""

    def look(self, now: float) -> float:
        super().look(now - 25.0)
        return super().look(now)


def test_hosts_that_gave_up_while_the_command_was_stopped_are_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    gives_up = program(
        "import sys, time; time.sleep(0.5); sys.exit('no contact with the runner for 20 s: ending all here')"
    )
    monkeypatch.setattr(host_survey, "Standstill", Stopped)
    monkeypatch.setattr(host_survey, "COME_S", 3.0)
    seen = taken(QUICK, gives_up, limit_s=10.0)
    (found,) = seen.findings
    assert (found.code, found.subject.kind) == ("command-stopped", "run")
    assert found.message.endswith("and its hosts gave up waiting for it")
    assert found.evidence[0].startswith("n2 was lost: it lost contact with this command")


def test_the_host_of_the_command_is_named_where_no_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both came, and say nothing since: they are not asked to start anything, and their calls are not heard."""
    monkeypatch.setattr(tcp_table, "peers", lambda sessions: dict.fromkeys(sessions, ("10.77.0.2", 22)))
    monkeypatch.setattr(tcp_calls, "any_answers", lambda logins: False)
    monkeypatch.setattr(host_survey, "COME_S", 1.0)
    monkeypatch.setattr(host_survey, "TRY_S", 1.0)
    monkeypatch.setattr(own_end, "_JUST_S", 0.1)
    seen = taken(QUICK, HANGS)
    assert seen.own_end is not None
    assert seen.own_end.evidence == ("other hosts: n1, n2", "n2 sent no facts within 1 s")
