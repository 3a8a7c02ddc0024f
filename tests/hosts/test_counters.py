"""Counters of a host's network, from its files, and by how much they grew."""

from pathlib import Path

from nccltool.hosts import counters
from nccltool.hosts.counters import TCP, Counters, Growth
from nccltool.hosts.sources.base import Tree

SNMP = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm MaxConn OutSegs RetransSegs\nTcp: 1 -1 {} {}\n"
NETSTAT = "TcpExt: TCPTimeouts TCPLostRetransmit TCPDSACKRecv\nTcpExt: {} {} {}\n"


def tree(folder: Path, **numbers: int) -> Tree:
    """A host with an interface, a bridge of containers, an InfiniBand port and an EFA device."""
    files = {
        "proc/self/net/snmp": SNMP.format(numbers.get("out", 1000), numbers.get("again", 3)),
        "proc/self/net/netstat": NETSTAT.format(1, 0, 2),
        "sys/class/net/eth0/statistics/rx_packets": "500",
        "sys/class/net/eth0/statistics/rx_crc_errors": f"{numbers.get('crc', 0)}",
        "sys/class/net/eth0/carrier_changes": "2",
        "sys/class/net/docker0/statistics/rx_errors": "7",
        "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": f"{numbers.get('symbol', 9)}",
        "sys/class/infiniband/efa0/ports/1/hw_counters/retrans_pkts": "5",
        "sys/class/infiniband/efa0/ports/1/hw_counters/tx_pkts": "N/A",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return Tree.at(folder)


def test_they_are_read(tmp_path: Path) -> None:
    read = counters.read(tree(tmp_path))
    assert read == Counters(
        {
            (TCP, "RetransSegs"): 3,
            (TCP, "OutSegs"): 1000,
            (TCP, "TCPLostRetransmit"): 0,
            (TCP, "TCPTimeouts"): 1,
            (TCP, "TCPDSACKRecv"): 2,
            ("eth0", "rx_packets"): 500,
            ("eth0", "rx_crc_errors"): 0,
            ("eth0", "carrier_changes"): 2,
            ("mlx5_0:1", "symbol_error"): 9,
            ("efa0:1", "retrans_pkts"): 5,
        },
        (),
    )


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    read = counters.read(Tree.at(tmp_path))
    assert read.values == {}
    assert read.unread == (
        "/proc/self/net/snmp has no RetransSegs",
        "/proc/self/net/snmp has no OutSegs",
        "/proc/self/net/netstat has no TCPLostRetransmit",
        "/proc/self/net/netstat has no TCPTimeouts",
        "/proc/self/net/netstat has no TCPDSACKRecv",
        "/sys/class/net cannot be read",
    )


def test_what_grew(tmp_path: Path) -> None:
    """One that was reset meanwhile tells nothing; those that count packets are what the others are a share of."""
    before = counters.read(tree(tmp_path))
    after = counters.read(tree(tmp_path, out=3000, again=13, crc=2, symbol=1))
    assert counters.grown(before, after) == (
        Growth(TCP, "RetransSegs", 10, 2000),
        Growth("eth0", "rx_crc_errors", 2),
    )
