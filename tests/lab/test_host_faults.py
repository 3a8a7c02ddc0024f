"""Faults between real hosts: node 0 names the culprit and its host, and no host is left with processes."""

import os
import re
import signal
import sys
from typing import Any

import pytest

from tests.lab.conftest import PORT, Start, join
from tests.lab.lab import Host, Lab
from tests.support.commands import Command, Ended, until

pytestmark = pytest.mark.lab

LIMIT_S = 65.0
WORDS = ("--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "60", "--timeout", "5", "--deadline", "60")
SLOW = "slow:rank=1,size=64KiB,ms=500"
"""The first of two rows comes at once, the second one takes 30 s."""
IN_SECOND_ROW = r"in all_reduce at 64 KiB( \((warm-up|timing)\))?"


def begin(lab: Lab, start: Start, *words: str, **env: str) -> tuple[Command, Command]:
    """A command on each of two hosts."""
    first, second = (start(host, join(rank, 2, *WORDS, *words), **env) for rank, host in enumerate(lab.hosts))
    return first, second


def begin_long(lab: Lab, start: Start) -> tuple[Command, Command, int]:
    """The same in its second row, and the process of rank 1."""
    first, second = begin(lab, start, NCCLTOOL_FAULT=SLOW)
    for rank in (0, 1):
        first.wait_for("enter", rank=rank, bytes=65536)
    return first, second, first.wait_for("spawned", rank=1)["pid"]


def finding(ended: Ended, code: str) -> dict[str, Any]:
    """The only error of a run that did not complete."""
    assert (ended.code, ended.document["status"]) == (3, "incomplete"), ended.said
    assert [problem["code"] for problem in ended.problems] == [code], ended.said
    (error,) = ended.problems
    assert f"ERROR {code}: {error['message']}\n" in ended.stdout
    return error


def assert_names_rank_1(first: Ended, code: str, message: str) -> dict[str, Any]:
    """Node 0 names rank 1 on n2, and shows the row that was measured."""
    error = finding(first, code)
    assert error["subject"] == {"kind": "rank", "name": "1"}
    assert re.fullmatch(message, error["message"]), error["message"]
    assert [row["bytes"] for row in first.document["measurements"]] == [1024]
    return error


def assert_followed(second: Ended, code: str) -> None:
    """The command on the other host ends too, shows no numbers, and says what it knows."""
    assert (second.code, second.stdout) == (3, ""), second.said
    assert f"ERROR {code}: " in second.stderr, second.said


# ---- hosts that do not come


def test_node_1_never_starts(lab: Lab, start: Start) -> None:
    first = start(lab.hosts[0], join(0, 2, *WORDS, "--join-timeout", "5")).wait(LIMIT_S)
    error = finding(first, "node-missing")
    assert error["subject"] == {"kind": "host", "name": "node 1"}
    assert error["message"] == "node 1 of 2 did not join within 5 s"
    assert error["evidence"] == ["joined: n1"]
    assert lab.quiet()


@pytest.mark.slow
def test_node_0_never_starts(lab: Lab, start: Start) -> None:
    second = start(lab.hosts[1], join(1, 2, *WORDS, "--join-timeout", "5")).wait(LIMIT_S)
    assert_followed(second, "rdzv-unreachable")
    assert f"node 1 (n2) got no answer at n1:{PORT}\n" in second.stderr
    assert lab.quiet()


@pytest.mark.slow
def test_the_name_of_node_0_is_not_known(lab: Lab, start: Start) -> None:
    two = lab.hosts[1]
    two.knows({two.name: two.address})
    second = start(two, join(1, 2, *WORDS, "--join-timeout", "5")).wait(LIMIT_S)
    assert_followed(second, "rdzv-unreachable")
    assert lab.quiet()


def test_the_port_is_in_use(lab: Lab, start: Start) -> None:
    one = lab.hosts[0]
    holder = (
        "import socket, time; s = socket.create_server(('', 29500)); print('holds', flush=True); time.sleep(99)"
    )
    command = start(one, (sys.executable, "-c", holder))
    assert until_said(command, "holds")
    first = start(one, join(0, 2, *WORDS)).wait(LIMIT_S)
    error = finding(first, "port-in-use")
    assert error["message"] == f"node 0 (n1) cannot listen on port {PORT}: Address already in use"


def until_said(command: Command, word: str) -> bool:
    return until(lambda: word in (command.folder / "stdout").read_text(), 20)


def test_two_hosts_with_the_same_rank(lab_of_four: Lab, start: Start) -> None:
    """Of n2 and n3, who both say that they are node 1, the second is turned away; the run does not go on."""
    one, two, three, _ = lab_of_four.hosts
    commands = [
        start(host, join(rank, 3, *WORDS, "--join-timeout", "8"))
        for host, rank in ((one, 0), (two, 1), (three, 1))
    ]
    first, *others = [command.wait(LIMIT_S) for command in commands]
    error = finding(first, "node-rank-twice")
    assert re.fullmatch("two nodes have --node-rank 1: (n2 and n3|n3 and n2)", error["message"])
    assert [other.code for other in others] == [3, 3]
    assert any("ERROR node-rank-twice: " in other.stderr for other in others)
    assert lab_of_four.quiet()


# ---- faults while it runs


def test_a_rank_is_killed(lab: Lab, start: Start) -> None:
    first, second, pid = begin_long(lab, start)
    os.kill(pid, signal.SIGKILL)
    message = rf"rank 1 on n2 \(node 1, pid {pid}\) was killed by SIGKILL {IN_SECOND_ROW}"
    assert_names_rank_1(first.wait(LIMIT_S), "rank-died", message)
    assert_followed(second.wait(LIMIT_S), "rank-died")
    assert lab.quiet()


@pytest.mark.slow
def test_a_rank_is_stopped(lab: Lab, start: Start) -> None:
    first, second, pid = begin_long(lab, start)
    os.kill(pid, signal.SIGSTOP)
    message = rf"rank 1 on n2 \(node 1, pid {pid}\) made no progress for \d+ s {IN_SECOND_ROW}"
    error = assert_names_rank_1(first.wait(LIMIT_S), "rank-hung", message)
    assert error["evidence"][0] == "its process is stopped (state T): something sent it SIGSTOP"
    assert second.wait(LIMIT_S).code == 3
    assert lab.quiet()


@pytest.mark.slow
def test_everything_on_a_host_is_killed(lab: Lab, start: Start) -> None:
    first, second, pid = begin_long(lab, start)
    lab.hosts[1].kill_everything()
    assert_gone(first.wait(LIMIT_S), pid)
    assert second.wait(LIMIT_S).code == -signal.SIGKILL
    assert lab.quiet()


@pytest.mark.slow
def test_the_command_on_a_host_is_killed(lab: Lab, start: Start) -> None:
    first, second, pid = begin_long(lab, start)
    second.send(signal.SIGKILL)
    assert_gone(first.wait(LIMIT_S), pid)
    assert lab.quiet()


def assert_gone(first: Ended, pid: int) -> None:
    """Its connections were closed, and nothing more came."""
    message = rf"rank 1 on n2 \(node 1, pid {pid}\) died {IN_SECOND_ROW}: its supervisor, .*, did not say how"
    assert_names_rank_1(first, "rank-died", message)


@pytest.mark.slow
def test_a_cable_is_pulled(lab: Lab, start: Start) -> None:
    first, second, pid = begin_long(lab, start)
    lab.hosts[1].link("down")
    assert_cut_off(first.wait(LIMIT_S), pid)
    assert_followed(second.wait(LIMIT_S), "hang")
    assert lab.quiet()


def test_a_firewall_drops_everything(lab: Lab, start: Start) -> None:
    first, second, pid = begin_long(lab, start)
    firewall(lab.hosts[1], "drop")
    assert_cut_off(first.wait(LIMIT_S), pid)
    assert_followed(second.wait(LIMIT_S), "hang")
    assert lab.quiet()


def assert_cut_off(first: Ended, pid: int) -> None:
    message = rf"rank 1 on n2 \(node 1, pid {pid}\) made no progress for \d+ s {IN_SECOND_ROW}"
    error = assert_names_rank_1(first, "rank-hung", message)
    assert error["evidence"][0] == ("n2 has sent nothing since then: it is down or cut off from the network")


@pytest.mark.slow
def test_a_firewall_drops_all_but_the_store(lab: Lab, start: Start) -> None:
    """Both ranks still say that they wait inside: no rank stands out, and none is named."""
    first, second, _ = begin_long(lab, start)
    firewall(lab.hosts[1], f"tcp sport {PORT} accept", f"tcp dport {PORT} accept", "drop")
    error = finding(first.wait(LIMIT_S), "hang")
    assert re.fullmatch(rf"no progress for \d+ s {IN_SECOND_ROW}; no rank stands out", error["message"])
    waits = [re.sub(r"pid \d+", "pid", text) for text in error["evidence"]]
    assert [text.partition(" waits ")[0] for text in waits] == [
        "rank 0 on n1 (node 0, pid)",
        "rank 1 on n2 (node 1, pid)",
    ]
    assert error["remedy"].startswith("check the firewalls between the hosts")
    assert second.wait(LIMIT_S).code == 3
    assert lab.quiet()


def firewall(host: Host, *rules: str) -> None:
    """Rules for what enters a host, one after the other."""
    host.run("nft", "add table inet faults")
    host.run("nft", "add chain inet faults input { type filter hook input priority 0; }")
    for rule in rules:
        host.run("nft", f"add rule inet faults input iifname eth0 {rule}")


# ---- interfaces


@pytest.mark.parametrize(
    ("interface", "reason"),
    [
        ("lo", "other hosts cannot reach its addresses"),
        pytest.param("ib9", "it has lo, eth0", marks=pytest.mark.slow),
    ],
)
def test_an_interface_that_leads_nowhere(lab: Lab, start: Start, interface: str, reason: str) -> None:
    first, second = begin(lab, start, GLOO_SOCKET_IFNAME=interface)
    ended = first.wait(LIMIT_S)
    assert (ended.code, ended.document["measurements"]) == (3, []), ended.said
    errors = ended.problems
    assert {(error["code"], error["subject"]["name"]) for error in errors} == {
        ("interface-unusable", "GLOO_SOCKET_IFNAME")
    }
    said = "rank {} on {} cannot use GLOO_SOCKET_IFNAME={}: {}: {}"
    on_n1, on_n2 = (said.format(rank, f"n{rank + 1}", interface, interface, reason) for rank in (0, 1))
    assert {error["message"] for error in errors} <= {on_n1, on_n2}
    follower = second.wait(LIMIT_S)
    assert_followed(follower, "interface-unusable")
    assert on_n2 in follower.stderr
    assert lab.quiet()


def test_the_interface_between_the_hosts_may_be_named(lab: Lab, start: Start) -> None:
    first, second = begin(lab, start, GLOO_SOCKET_IFNAME="eth0")
    ended = first.wait(LIMIT_S)
    assert (ended.code, ended.document["status"]) == (0, "pass"), ended.said
    assert second.wait(LIMIT_S).code == 0


# ---- interrupted


def test_interrupted_on_node_0(lab: Lab, start: Start) -> None:
    first, second, _ = begin_long(lab, start)
    first.send(signal.SIGINT)
    ended = first.wait(LIMIT_S)
    assert (ended.code, ended.document["status"], ended.problems) == (130, "incomplete", []), ended.said
    assert [row["bytes"] for row in ended.document["measurements"]] == [1024]
    assert_followed(second.wait(LIMIT_S), "leader-gone")
    assert lab.quiet()


@pytest.mark.slow
def test_interrupted_on_node_1(lab: Lab, start: Start) -> None:
    first, second, pid = begin_long(lab, start)
    second.send(signal.SIGINT)
    assert_gone(first.wait(LIMIT_S), pid)
    assert second.wait(LIMIT_S).code == 130
    assert lab.quiet()
