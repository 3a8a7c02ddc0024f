"""Eight hosts in pairs, whose cables limit them: the host, the link, or the direction that is slow is named."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.sshd import Sshd
from tests.support.commands import NCCLTOOL, Command, Ended

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMIT_S = 300.0
FULL, HALF, SLOW_LINK = "100mbit", "50mbit", "40mbit"
Pairs = Callable[..., Command]


@pytest.fixture
def wired(possible: None) -> Iterator[Lab]:
    """Eight hosts whose cables have the same rate."""
    with Lab(8) as eight:
        eight.wire(FULL)
        yield eight


@pytest.fixture
def pairs(wired: Lab, with_sshd: Callable[[Lab], Sshd], start: Start, tmp_path: Path) -> Pairs:
    """`nccltool pairs --hosts n[1-8] WORDS` on n1."""
    servers = with_sshd(wired)

    def begin(*words: str) -> Command:
        argv = (*NCCLTOOL, "pairs", "--hosts", "n[1-8]", "--ssh", " ".join(servers.ssh), "--bytes", "1MiB", *words)
        return start(wired.hosts[0], argv)

    return begin


def accused(ended: Ended) -> list[tuple[str, list[str], str]]:
    """What is accused, as kind, subject and direction."""
    return [(one["kind"], one["subject"], one["direction"]) for one in ended.document["suspects"]]


def test_nobody_is_accused_where_all_are_healthy(wired: Lab, pairs: Pairs) -> None:
    ended = pairs().wait(LIMIT_S)
    assert (ended.code, accused(ended), ended.document["scope"]) == (0, [], "nothing-slow"), ended.said
    assert wired.quiet()


def test_a_host_of_half_the_rate(wired: Lab, pairs: Pairs) -> None:
    wired.slow_down(wired.hosts[4], HALF)
    ended = pairs().wait(LIMIT_S)
    assert (ended.code, accused(ended)) == (1, [("node", ["n5"], "both")]), ended.said
    assert 0.4 < ended.document["suspects"][0]["ratio"] < 0.65


def test_a_host_that_receives_slowly(wired: Lab, pairs: Pairs) -> None:
    wired.slow_down(wired.hosts[4], HALF, sends=False)
    ended = pairs("--op", "send_recv").wait(LIMIT_S)
    assert (ended.code, accused(ended)) == (1, [("node", ["n5"], "receive")]), ended.said


def test_a_link_between_healthy_hosts(wired: Lab, pairs: Pairs) -> None:
    n3, n6 = wired.hosts[2], wired.hosts[5]
    wired.slow_link(n3, n6, SLOW_LINK)
    wired.slow_link(n6, n3, SLOW_LINK)
    ended = pairs().wait(LIMIT_S)
    assert ended.code == 1, ended.said
    assert [(kind, sorted(subject)) for kind, subject, _ in accused(ended)] == [("link", ["n3", "n6"])], ended.said


def test_one_slow_rail_of_two(wired: Lab, pairs: Pairs) -> None:
    wired.add_rail(FULL)
    wired.slow_rail(wired.hosts[4], HALF)
    ended = pairs("--rails", "eth0,eth1", "--backend", "gloo").wait(LIMIT_S)
    assert (ended.code, accused(ended)) == (1, [("rail", ["n5", "eth1"], "both")]), ended.said
    assert {one["rail"] for one in ended.document["pairs"]} == {"eth0", "eth1"}


def test_a_host_that_loses_packets(wired: Lab, pairs: Pairs) -> None:
    wired.lose(wired.hosts[4], 2)
    ended = pairs().wait(LIMIT_S)
    found = {one["subject"]["name"] for one in ended.document["findings"] if one["subject"]["kind"] == "host"}
    assert found == {"n5"}, ended.said  # by its speed, its counters, or both


def test_a_host_that_stops(wired: Lab, pairs: Pairs) -> None:
    command = pairs()
    command.wait_for("round-ended", LIMIT_S)
    for pid in wired.hosts[4].pids():
        os.kill(pid, signal.SIGSTOP)
    ended = command.wait(LIMIT_S)
    assert ended.code == 3, ended.said
    lost = [one for one in ended.document["findings"] if one["code"] in ("host-lost", "rank-hung", "node-failed")]
    assert lost, ended.said
    assert all("n5" in one["message"] for one in lost), ended.said
    wired.hosts[4].kill_everything()
