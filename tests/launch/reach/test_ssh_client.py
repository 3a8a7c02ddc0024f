"""The ssh commands for hosts, and what the ends of these mean."""

import shlex

import pytest

from nccltool.launch.named_hosts import Host
from nccltool.launch.reach import ssh_client

PYTHON = "/opt/venv/bin/python"


def test_an_ssh_for_each_host() -> None:
    hosts = (Host("n1"), Host("x", "me", 2222), Host("fd00::1"))
    launch = ssh_client.launch(hosts, ("ssh", "-F", "my config"), PYTHON, "why")
    assert (launch.launcher, launch.why, launch.remote) == ("ssh", "why", True)
    assert [(command.nodes, command.host) for command in launch.commands] == [
        ((0,), "n1"),
        ((1,), "x"),
        ((2,), "fd00::1"),
    ]
    one, two, three = (command.argv for command in launch.commands)
    assert one[:3] == ("ssh", "-F", "my config")
    assert one[-3:] == ("--", "n1", f"{PYTHON} -P -m nccltool.worker")
    assert two[-6:-1] == ("-p2222", "-l", "me", "--", "x")
    assert three[-3:-1] == ("--", "fd00::1")
    assert {"-oBatchMode=yes", "-oConnectTimeout=7", "-T"} <= set(one)
    assert not [word for word in one if "StrictHostKeyChecking" in word]


def test_one_name_with_two_ports_is_two_hosts() -> None:
    launch = ssh_client.launch((Host("n1", port=2222), Host("n1"), Host("n2", port=9)), ("ssh",), PYTHON, "why")
    assert [command.host for command in launch.commands] == ["n1:2222", "n1:22", "n2"]


@pytest.mark.parametrize("python", ["/opt/my venv/bin/python", "/opt/$(reboot)/python", "python3;reboot"])
def test_the_remote_shell_sees_one_word(python: str) -> None:
    (command,) = ssh_client.launch((Host("n1"),), ("ssh",), python, "why").commands
    assert shlex.split(command.argv[-1]) == [python, "-P", "-m", "nccltool.worker"]


JUMP = [
    "channel 0: open failed: connect failed: Connection refused",
    "stdio forwarding failed",
    "Connection closed by UNKNOWN port 65535",
]
STORE = "[W socket.cpp:768] [c10d] The client socket has failed to connect to n1: Connection refused"
"""What ranks print on the same stream."""


@pytest.mark.parametrize(
    ("code", "lines", "finding", "what"),
    [
        (
            255,
            ["ssh: Could not resolve hostname n1: Name or service not known"],
            "host-unknown",
            "its name does not",
        ),
        (255, ["ssh: connect to host n1 port 22: Connection refused"], "host-refused", "no sshd answers"),
        (255, JUMP, "host-refused", "no sshd answers"),
        (255, ["ssh: connect to host n1 port 22: No route to host"], "host-unreachable", "it does not answer"),
        (255, ["ssh: connect to host n1 port 22: Connection timed out"], "host-unreachable", "it does not answer"),
        (255, ["Connection timed out during banner exchange"], "host-unreachable", "it does not answer"),
        (255, ["Host key verification failed."], "host-refused", "its host key matches no key"),
        (255, ["me@n1: Permission denied (publickey)."], "host-refused", "it refuses passwordless login"),
        (
            255,
            ["kex_exchange_identification: Connection closed by remote host"],
            "host-refused",
            "its sshd closes",
        ),
        (255, [STORE, "Timeout, server n1 not responding."], "host-lost", "the connection to it broke"),
        (255, ["client_loop: send disconnect: Broken pipe"], "host-lost", "the connection to it broke"),
        (255, ["Connection to n1 closed by remote host."], "host-lost", "the connection to it broke"),
        (255, [], "host-lost", "its ssh session ended without a reason"),
        (
            1,
            ["no contact with the runner for 20 s: ending everything here"],
            "host-lost",
            "it lost contact",
        ),
        (-9, [], "host-lost", "its ssh process was killed on this host"),
        (
            255,
            [STORE, "bash: no: No such file or directory"],
            "host-lost",
            "its ssh session ended without a reason",
        ),
        (
            127,
            ["bash: line 1: /no/python: No such file or directory"],
            "host-misconfigured",
            "it has no such Python",
        ),
        (127, ["sh: 1: /no/python: nicht gefunden"], "host-misconfigured", "it has no such Python"),
        (126, ["/etc/motd: Permission denied"], "host-misconfigured", "it has no such Python"),
        (1, ["/usr/bin/python3: No module named nccltool"], "host-misconfigured", "its Python lacks a package"),
        (1, ["ModuleNotFoundError: No module named 'torch'"], "host-misconfigured", "its Python lacks a package"),
    ],
)
def test_why_an_ssh_ended(code: int, lines: list[str], finding: str, what: str) -> None:
    found = ssh_client.explain("n1", code, lines)
    assert found is not None
    assert (found.code, found.severity, found.subject.name) == (finding, "error", "n1")
    begin = "n1 was lost: " if finding == "host-lost" else "n1 cannot be used: "
    assert found.message.startswith(begin + what)
    assert found.evidence == tuple(lines)
    assert found.remedy


@pytest.mark.parametrize(
    ("code", "lines"), [(1, [STORE]), (1, ["ssh: connect to host n9 port 22: Connection refused"])]
)
def test_an_end_that_is_not_that_of_ssh_is_for_others_to_explain(code: int, lines: list[str]) -> None:
    assert ssh_client.explain("n1", code, lines) is None


def test_evidence_is_the_end_and_short() -> None:
    found = ssh_client.explain("n1", 255, ["one", "", "two", "three", "x" * 999, "last"])
    assert found is not None
    assert found.evidence == ("two", "three", "x" * 300, "last")
