"""Counters of a host's network: of TCP, of its interfaces, and of its RDMA ports, and by how much they grew.

They count all traffic of the host, or of the network namespace of a container, from its boot on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nccltool.core.text import whole
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_NET, _IB = "/sys/class/net", "/sys/class/infiniband"
TCP = ""
"""The name of TCP among devices."""
_OF_TCP = {
    "/proc/self/net/snmp": ("Tcp", ("RetransSegs", "OutSegs")),
    "/proc/self/net/netstat": ("TcpExt", ("TCPLostRetransmit", "TCPTimeouts", "TCPDSACKRecv")),
}
_OF_INTERFACES = (
    *("rx_packets", "tx_packets", "rx_errors", "tx_errors", "rx_crc_errors", "tx_carrier_errors", "rx_dropped"),
    *("tx_dropped", "rx_missed_errors"),
)
"""Of Documentation/ABI/testing/sysfs-class-net-statistics in the kernel."""
_OF_PORTS = (
    *("counters/symbol_error", "counters/link_error_recovery", "counters/link_downed", "counters/port_rcv_errors"),
    *("counters/local_link_integrity_errors", "counters/excessive_buffer_overrun_errors"),
    *("counters/port_xmit_discards", "counters/port_xmit_packets", "hw_counters/packet_seq_err"),
    *("hw_counters/local_ack_timeout_err", "hw_counters/out_of_sequence", "hw_counters/rnr_nak_retry_err"),
    *("hw_counters/roce_slow_restart", "hw_counters/tx_pkts", "hw_counters/rx_drops", "hw_counters/retrans_pkts"),
    *("hw_counters/retrans_timeout_events", "hw_counters/impaired_remote_conn_events"),
    "hw_counters/unresponsive_remote_events",
)
"""Of InfiniBand and RoCE as doctor reads them, and of EFA (drivers/infiniband/hw/efa/efa_verbs.c)."""
_PACKETS = {
    "RetransSegs": "OutSegs",
    **dict.fromkeys(("rx_errors", "rx_crc_errors", "rx_dropped", "rx_missed_errors"), "rx_packets"),
    **dict.fromkeys(("tx_errors", "tx_carrier_errors", "tx_dropped"), "tx_packets"),
    "retrans_pkts": "tx_pkts",
    "port_xmit_discards": "port_xmit_packets",
}
"""A counter, and that of the packets or segments that it is a share of."""
_VIRTUAL = ("lo", "docker", "virbr", "cni", "br-", "veth", "flannel", "cali", "lxc", "podman")

Values = Mapping[tuple[str, str], int]
"""By device and counter."""


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much a counter grew."""

    device: str
    """An interface, an RDMA port as mlx5_0:1; `TCP` = the host's TCP."""
    name: str
    more: int
    of: int = 0
    """Packets or segments that it is a share of; 0 = not known."""


@dataclass(frozen=True, slots=True)
class Peer:
    """What was sent over TCP to another host."""

    address: str
    segments: int
    """With data."""
    again: int
    confirmed_bytes: int
    busy_s: float
    """How long data was under way, on the connection that had most."""


@dataclass(frozen=True, slots=True)
class Counters:
    """At one moment."""

    values: Values
    unread: tuple[str, ...]
    """What could not be read, and why."""


def read(tree: Tree | None = None) -> Counters:
    """Those of this host now."""
    tree = tree or Tree()
    unread: list[str] = []
    values = dict(_tcp(tree, unread))
    values.update(_interfaces(tree, unread))
    values.update(_ports(tree))
    return Counters(values, tuple(unread))


def _tcp(tree: Tree, unread: list[str]) -> Iterator[tuple[tuple[str, str], int]]:
    for file, (family, names) in _OF_TCP.items():
        lines = or_none(tree.lines(file)) or ()
        pairs = [line.split() for line in lines if line.startswith(f"{family}:")]
        found = dict(zip(pairs[0], pairs[1], strict=False)) if len(pairs) == 2 else {}
        for name in names:
            if (count := whole(found.get(name, ""), 20)) is not None:
                yield (TCP, name), count
            else:
                unread.append(f"{file} has no {name}")


def _interfaces(tree: Tree, unread: list[str]) -> Iterator[tuple[tuple[str, str], int]]:
    names = or_none(tree.names(_NET))
    if names is None:
        unread.append(f"{_NET} cannot be read")
    for name in names or ():
        if not name.startswith(_VIRTUAL):
            yield from _of_folder(tree, name, f"{_NET}/{name}/statistics", _OF_INTERFACES)
            yield from _of_folder(tree, name, f"{_NET}/{name}", ("carrier_changes",))


def _ports(tree: Tree) -> Iterator[tuple[tuple[str, str], int]]:
    for device in or_none(tree.names(_IB)) or ():
        for port in or_none(tree.names(f"{_IB}/{device}/ports")) or ():
            yield from _of_folder(tree, f"{device}:{port}", f"{_IB}/{device}/ports/{port}", _OF_PORTS)
        yield from _of_folder(tree, device, f"{_IB}/{device}", tuple(n for n in _OF_PORTS if n.startswith("hw_")))


def _of_folder(
    tree: Tree, device: str, folder: str, names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, str], int]]:
    for name in names:
        value = or_none(tree.number(f"{folder}/{name}"))
        if value is not None:
            yield (device, name.rpartition("/")[2]), value


def grown(before: Counters, after: Counters) -> tuple[Growth, ...]:
    """Counters of trouble that grew; one that fell was reset meanwhile, and tells nothing."""
    more = {key: value - before.values[key] for key, value in after.values.items() if key in before.values}
    bases = set(_PACKETS.values())
    return tuple(
        Growth(device, name, count, max(more.get((device, _PACKETS.get(name, "")), 0), 0))
        for (device, name), count in more.items()
        if count > 0 and name not in bases
    )
