"""Paths between hosts that break while ranks run, though ssh works: the host, pair or direction is named."""

from collections.abc import Callable

import pytest

from tests.lab.conftest import Probe, drop
from tests.lab.lab import Host
from tests.lab.sshd import Sshd
from tests.support.commands import Ended

pytestmark = pytest.mark.lab

LIMIT_S = 75.0
WORDS = ("--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "60", "--timeout", "5", "--deadline", "70")
SLOW = "slow:rank=0,size=64KiB,ms=500"
"""The first of two rows comes at once, the second one takes 30 s."""
BOTH = " are lost in both directions"
SSH = ("tcp dport 22 accept", "tcp sport 22 accept")


def cut(host: Host) -> None:
    drop(host, "input", "iifname lo accept", *SSH, "drop")
    drop(host, "output", "oifname lo accept", *SSH, "drop")


def no_packets_to_n3(host: Host) -> None:
    drop(host, "output", *SSH, "ip daddr 10.77.0.3 drop")


def nothing_sent(host: Host) -> None:
    drop(host, "output", "oifname lo accept", *SSH, "drop")


def large_packets(host: Host) -> None:
    drop(host, "input", "iifname lo accept", *SSH, "meta length > 1000 drop")


def cut_from_everything(host: Host) -> None:
    host.link("down")


@pytest.mark.parametrize(
    ("hosts", "culprit", "act", "code", "subject", "message"),
    [
        pytest.param(
            *(3, 1, cut, "path-cut", "host n2", "packets between n2 and n1, n3 are lost in both directions"),
            marks=pytest.mark.slow,
        ),
        (
            3,
            1,
            no_packets_to_n3,
            "path-cut",
            "link n2 - n3",
            "packets from n2 to n3 are lost; those from n3 to n2 arrive",
        ),
        pytest.param(
            3,
            1,
            nothing_sent,
            "path-cut",
            "host n2",
            "packets that n2 sends to n1, n3 are lost; those that it is sent arrive",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            2,
            1,
            cut,
            "path-cut",
            "link n1 - n2",
            "packets between n1 and n2" + BOTH,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            3,
            1,
            large_packets,
            "large-packets-lost",
            "host n2",
            "large packets that n1, n3 send to n2 are lost; those that it sends arrive",
        ),
        pytest.param(
            3,
            0,
            cut_from_everything,
            "host-lost",
            "host n1",
            "this host, n1, is cut off: none of the 2 other hosts responds",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_path_breaks_in_a_run(
    servers: Sshd,
    probe: Probe,
    hosts: int,
    culprit: int,
    act: Callable[[Host], None],
    code: str,
    subject: str,
    message: str,
) -> None:
    command = probe(f"n[1-{hosts}]", *WORDS, NCCLTOOL_FAULT=SLOW)
    command.wait_for("enter", rank=1, bytes=65536)
    act(servers.lab.hosts[culprit])
    assert named(command.wait(LIMIT_S)) == (code, subject, message)
    servers.lab.hosts[culprit].link("up")


def named(ended: Ended) -> tuple[str, str, str]:
    """The only error of a run that did not complete."""
    assert (ended.code, ended.document["status"]) == (3, "incomplete"), ended.said
    errors = [one for one in ended.problems if one["severity"] == "error"]
    assert len(errors) == 1, ended.said
    error = errors[0]
    return error["code"], f"{error['subject']['kind']} {error['subject']['name']}", error["message"]


def test_a_login_hangs_because_large_packets_are_lost(servers: Sshd, probe: Probe) -> None:
    drop(servers.lab.hosts[1], "input", "iifname eth0 meta length > 1000 drop")
    code, subject, message = named(probe("n[1-3]", "--op", "all_reduce", "--sizes", "1KiB").wait(LIMIT_S))
    assert (code, subject) == ("large-packets-lost", "host n2")
    assert message.startswith(
        "large packets to n2 are lost: it accepted the login's connection, and has not confirmed"
    )
