"""What grown counters and lossy connections of a run come to: whom they name, and what only warns."""

from collections.abc import Sequence

import pytest

from nccltool.core.findings import Finding
from nccltool.hosts.counters import TCP, Growth, Peer
from nccltool.launch import link_counters
from nccltool.launch.events import Counted

MB = 1_000_000
FINE = (10_000, 0, 100 * MB, 0.5)
LOSSY = (10_000, 500, 100 * MB, 5.0)
SLOW = (10_000, 2, 10 * MB, 8.0)
CALM = (10_000, 2, 10 * MB, 2.0)


def host(
    number: int,
    peers: dict[int, tuple[int, int, int, float]] | None = None,
    *growth: Growth,
    unread: Sequence[str] = (),
) -> Counted:
    """Over 10 s; it sends to peers by their numbers."""
    return Counted(
        host=f"n{number}",
        addresses=(f"10.0.0.{number}", f"fd00::{number}"),
        seconds=10.0,
        growth=growth,
        peers=tuple(Peer(f"10.0.0.{other}", *traffic) for other, traffic in (peers or {}).items()),
        unread=tuple(unread),
    )


def ring(**bad: tuple[int, int, int, float]) -> tuple[Counted, ...]:
    """Four hosts, each of which sends to the next and a little to the one after it; `n2_n3` names a path."""
    return tuple(
        host(n, {m: bad.get(f"n{n}_n{m}", FINE) for m in (n % 4 + 1, (n + 1) % 4 + 1)}) for n in (1, 2, 3, 4)
    )


def judged(*counted: Counted, more: Sequence[str] = ()) -> tuple[Finding, ...]:
    hosts = {one.host: one for one in counted}
    return link_counters.judged(hosts, (*hosts, *more))


@pytest.mark.parametrize(
    ("counted", "named"),
    [
        pytest.param(ring(), [], id="all is well"),
        pytest.param(
            ring(n2_n3=LOSSY, n3_n4=LOSSY, n1_n3=LOSSY, n3_n1=LOSSY),
            [("retransmits", "host", "n3")],
            id="what comes to a host and what it sends is lost: those who send it again are innocent",
        ),
        pytest.param(ring(n2_n3=LOSSY), [("retransmits", "link", "n2 - n3")], id="one path: the pair"),
        pytest.param(
            ring(n2_n3=(10_000, 9, 100 * MB, 0.5)), [], id="fewer than 1 in 1,000 is what data centers have"
        ),
        pytest.param(ring(n2_n3=(300, 30, MB, 0.5)), [], id="too little was sent to tell"),
        pytest.param(ring(n2_n3=(1500, 15, MB, 0.5)), [], id="some may be probes of TCP"),
        pytest.param(
            ring(n2_n3=SLOW, n3_n4=SLOW, n1_n3=SLOW, n3_n1=SLOW),
            [("path-slow", "host", "n3")],
            id="one host at 10 Mbit/s, without a loss",
        ),
        pytest.param(ring(n2_n3=SLOW), [("path-slow", "link", "n2 - n3")], id="one slow path"),
        pytest.param(
            ring(n1_n2=CALM, n1_n3=CALM, n2_n3=SLOW, n2_n4=CALM, n3_n4=CALM, n3_n1=CALM),
            [],
            id="one path was fast, and the processors are short",
        ),
        pytest.param(ring(n2_n3=(10_000, 0, 10 * MB, 0.4)), [], id="a path with little to do is not slow"),
        pytest.param(ring(n2_n3=(10_000, 0, 1000, 8.0)), [], id="small messages wait for each other"),
        pytest.param(
            (host(1, {2: SLOW}), host(2, {1: SLOW})), [], id="of two hosts, there is nothing to compare with"
        ),
        pytest.param(
            (host(1, {2: LOSSY}), host(2, {1: LOSSY})), [("retransmits", "link", "n1 - n2")], id="of two, the pair"
        ),
        pytest.param(
            (host(1, {}, Growth(TCP, "RetransSegs", 500, 10_000)), host(2)),
            [("retransmits", "run", "other traffic or the run")],
            id="of the host's own counters nobody knows whose segments they were",
        ),
        pytest.param(
            (
                host(1, {}, Growth(TCP, "RetransSegs", 500, 10_000), Growth(TCP, "TCPDSACKRecv", 450)),
                host(2),
            ),
            [],
            id="a busy host answered late, and nothing was lost",
        ),
        pytest.param((host(1, {9: LOSSY}), host(2)), [], id="a peer that is no host of the run"),
    ],
)
def test_tcp(counted: tuple[Counted, ...], named: list[tuple[str, str, str]]) -> None:
    found = judged(*counted)
    assert [(one.code, one.subject.kind, one.subject.name) for one in found] == named
    assert all((one.severity, one.effect, one.suspect) == ("warning", "note", None) for one in found)


def test_the_rates_are_told() -> None:
    again = Growth(TCP, "RetransSegs", 600, 12_000)
    more = again, Growth(TCP, "TCPTimeouts", 7), Growth(TCP, "TCPDSACKRecv", 5)
    lossy, fine = host(1, {2: LOSSY}, *more), host(2, {1: FINE})
    (found,) = judged(lossy, fine)
    rate = "500 of 10000 segments (50,000 per million, 50/s)"
    assert found.message == f"TCP sent {rate} again between n1 and n2"
    assert found.evidence == (
        f"n1 to n2: {rate} sent again; 160 Mbit/s while busy",
        "n1: 600 of 12000 segments (50,000 per million, 60/s) were sent again on this host during the run, "
        "5 of them in vain, because the receiver had them, and 7 time-outs",
    )


@pytest.mark.parametrize(
    ("growth", "evidence"),
    [
        (
            Growth("eth0", "rx_crc_errors", 3, 100_000),
            "rx_crc_errors: 3 of 100000 packets (30 per million, 0.3/s)",
        ),
        (Growth("eth0", "rx_crc_errors", 1, 10_000_000), ""),
        (Growth("eth0", "rx_crc_errors", 3), ""),
        (Growth("eth0", "rx_dropped", 50, 100_000), ""),
        (
            Growth("eth0", "rx_dropped", 500, 100_000),
            "rx_dropped: 500 of 100000 packets (5,000 per million, 50/s)",
        ),
        (Growth("eth0", "carrier_changes", 2), ""),
        (Growth("eth0", "carrier_changes", 4), "carrier_changes: 4 (0.4/s)"),
        (Growth("mlx5_0:1", "link_downed", 1), "link_downed: 1 (0.1/s)"),
        (Growth("mlx5_0:1", "port_rcv_errors", 90), ""),
        (Growth("mlx5_0:1", "port_rcv_errors", 110), "port_rcv_errors: 110 (11/s)"),
        (Growth("efa0:1", "retrans_pkts", 50, 100_000), ""),
        (
            Growth("efa0:1", "retrans_pkts", 500, 100_000),
            "retrans_pkts: 500 of 100000 packets (5,000 per million, 50/s)",
        ),
        (Growth("efa0:1", "retrans_timeout_events", 1), "retrans_timeout_events: 1 (0.1/s)"),
        (Growth("x0", "nobody_knows", 10**9), ""),
    ],
)
def test_devices(growth: Growth, evidence: str) -> None:
    found = judged(host(1, {}, growth), host(2))
    assert [one.evidence for one in found] == ([(evidence,)] if evidence else [])
    for one in found:
        assert (one.code, one.subject.kind, one.subject.name) == (
            "link-errors",
            "device",
            f"{growth.device} of n1",
        )
        assert one.message.endswith(f" grew by {growth.more} on this host during the run")
        assert (one.severity, one.suspect) == ("warning", None)


def test_what_is_not_known_is_said() -> None:
    why = "/proc/self/net/snmp has no RetransSegs"
    (found,) = judged(host(1), host(2, unread=[why]), more=["n3"])
    assert (found.code, found.severity) == ("counters-unread", "info")
    assert found.message == "unknown whether links of n3, n2 lost packets"
    assert found.evidence == ("n3: it told nothing", f"n2: {why}")


def test_in_a_run_that_was_ended_a_path_that_waits_is_not_slow() -> None:
    counted = {one.host: one for one in ring(n2_n3=SLOW)}
    assert link_counters.judged(counted, counted.keys(), is_whole=False) == ()


def test_of_one_host_nothing_is_said() -> None:
    assert judged(host(1, {2: LOSSY})) == ()
