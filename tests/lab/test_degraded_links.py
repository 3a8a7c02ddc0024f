"""Links that lose packets or are slow, while the run completes: counters of the hosts say so, with rates."""

import re
import shutil

import pytest

from tests.lab.conftest import Probe
from tests.lab.sshd import Sshd
from tests.support.commands import Ended

pytestmark = pytest.mark.lab

LIMIT_S = 90.0
TRIES = 3
WORDS = ("--op", "all_reduce", "--sizes", "1MiB", "-n", "10", "--timeout", "20")
CODES = ("retransmits", "path-slow", "link-errors", "counters-unread")


def told(ended: Ended) -> dict[str, str]:
    """What is said of links by a run that completes, and of whom."""
    assert ended.code == 0, ended.said
    return {
        code: f"{one['subject']['kind']} {one['subject']['name']}"
        for code, one in ended.findings.items()
        if code in CODES
    }


def test_healthy_links(servers: Sshd, probe: Probe) -> None:
    assert told(probe("n[1-3]", *WORDS).wait(LIMIT_S)) == {}
    assert servers.lab.quiet()


def test_five_percent_of_the_packets_of_a_host_are_lost(servers: Sshd, probe: Probe) -> None:
    servers.lab.lose(servers.lab.hosts[1], 5)
    for _ in range(TRIES):  # also what opens a connection can be lost, again and again
        ended = probe("n[1-3]", *WORDS).wait(LIMIT_S)
        if ended.code == 0:
            break
        shutil.rmtree(ended.run)  # the next run is the only one again
    assert told(ended).get("retransmits") == "host n2", ended.said
    lost = ended.findings["retransmits"]
    rate = r"\d+ of \d+ segments \([\d,]+ per million, [\d.e+]+/s\)"
    assert re.fullmatch(rf"TCP sent {rate} again to and from n2", lost["message"])
    assert any(line.endswith(" time-outs") and " on this host during the run" in line for line in lost["evidence"])
    assert (lost["severity"], ended.document["status"]) == ("warning", "warn")
    assert servers.lab.quiet()


@pytest.mark.slow
def test_a_host_at_10_mbit(servers: Sshd, probe: Probe) -> None:
    host = servers.lab.hosts[1]
    servers.lab.shape(host, "10mbit")
    shaped = ("rate", "10mbit", "burst", "16kb", "latency", "5ms")
    host.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", *shaped)
    ended = probe("n[1-3]", *WORDS).wait(LIMIT_S)
    assert told(ended).get("path-slow") == "host n2", ended.said
    assert servers.lab.quiet()
