"""What the kernel knows of this host's TCP connections, by peer: what was sent, and what again.

Asked by NETLINK_SOCK_DIAG (linux/inet_diag.h), which any user may ask of the own network namespace.
"""

import ipaddress
import socket
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from nccltool.hosts.counters import Peer

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_REQUEST, _DUMP = 0x1, 0x300
_DONE, _ERROR = 3, 2
_ESTABLISHED = 1
_INFO = 2
"""INET_DIAG_INFO: a struct tcp_info follows."""
_HEADER = struct.Struct("=IHHII")
_ASK = struct.Struct("=BBBxI48x")
_MESSAGE = struct.Struct("=4BHH16s16sI8s5I")
"""struct inet_diag_msg; the ports of the socket are in the order of the network."""
_ATTRIBUTE = struct.Struct("=HH")
_TOTAL_RETRANS, _BYTES_ACKED, _BYTES_RECEIVED, _DATA_SEGS_OUT, _BUSY_TIME = 100, 120, 128, 156, 168
"""Offsets in struct tcp_info (linux/tcp.h, since 4.10), which only grows at its end."""
_INFO_LEAST = 176
_DSACK_DUPS, _WITH_DSACK = 216, 220
"""Since 4.19: segments that the peer already had when they came again (RFC 2883)."""
_SSH = 22
_WAIT_S = 1.0
_READ = 1 << 16
_MOST_READS = 1024

Connection = tuple[int, str, int]
"""Own port, and the peer's address and port."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What was sent over a connection."""

    segments: int
    """With data."""
    again: int
    """Without those that the peer already had: a busy host answers late, and nothing was lost."""
    confirmed_bytes: int
    busy_s: float
    """How long data was under way."""
    received_bytes: int = 0


def connections() -> dict[Connection, Traffic]:
    """Those that are established now, without ssh's and those within this host. Raises OSError."""
    return dict(found for message in messages() for found in parsed(message))


def carried_bytes(sockets: Collection[int]) -> int:
    """Bytes that came, or were confirmed, over those of these sockets (their inodes) that lead to other hosts.

    Raises OSError.
    """
    ours = (message for message in messages() if _inode(message) in sockets)
    return sum(t.confirmed_bytes + t.received_bytes for message in ours for _, t in parsed(message))


def messages(states: int = 1 << _ESTABLISHED) -> Iterator[bytes]:
    """One for each connection in these states (bits), of the network namespace of this thread. Raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(_WAIT_S)
        for family in (socket.AF_INET, socket.AF_INET6):
            yield from _ask(link, family, states)


def _inode(message: bytes) -> int:
    return int(_MESSAGE.unpack_from(message)[-1]) if len(message) >= _MESSAGE.size else 0


def _ask(link: socket.socket, family: int, states: int) -> Iterator[bytes]:
    question = _ASK.pack(family, socket.IPPROTO_TCP, 1 << (_INFO - 1), states)
    head = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _REQUEST | _DUMP, 1, 0)
    link.send(head + question)
    for _ in range(_MOST_READS):
        raw = link.recv(_READ)
        while len(raw) >= _HEADER.size:
            length, kind, *_ = _HEADER.unpack_from(raw)
            if kind == _DONE:
                return
            if kind == _ERROR or length < _HEADER.size:
                raise OSError("the kernel does not tell of its TCP connections")
            yield raw[_HEADER.size : length]
            raw = raw[(length + 3) & ~3 :]


def parsed(message: bytes) -> Iterator[tuple[Connection, Traffic]]:
    """Of one answer, where it is about a connection to another host."""
    if len(message) < _MESSAGE.size:
        return
    family, *_, own_port, peer_port, own, peer = _MESSAGE.unpack_from(message)[:8]
    own_port, peer_port = socket.ntohs(own_port), socket.ntohs(peer_port)
    here, there = _address(family, own), _address(family, peer)
    if here == there or ipaddress.ip_address(there).is_loopback or _SSH in (own_port, peer_port):
        return
    rest = message[_MESSAGE.size :]
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        info = rest[_ATTRIBUTE.size : length]
        if kind == _INFO and len(info) >= _INFO_LEAST:
            again, segments = (struct.unpack_from("=I", info, at)[0] for at in (_TOTAL_RETRANS, _DATA_SEGS_OUT))
            in_vain = struct.unpack_from("=I", info, _DSACK_DUPS)[0] if len(info) >= _WITH_DSACK else 0
            confirmed, received, busy_us = (
                struct.unpack_from("=Q", info, at)[0] for at in (_BYTES_ACKED, _BYTES_RECEIVED, _BUSY_TIME)
            )
            traffic = Traffic(segments, max(again - in_vain, 0), confirmed, busy_us / 1e6, received)
            yield (own_port, there, peer_port), traffic
            return
        rest = rest[(max(length, _ATTRIBUTE.size) + 3) & ~3 :]


def _address(family: int, raw: bytes) -> str:
    found = ipaddress.ip_address(raw[:4] if family == socket.AF_INET else raw)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


class TrafficSums:
    """Adds up what is sent to each peer, from looks at the connections; what comes after the last is missed."""

    def __init__(self, begin: Mapping[Connection, Traffic]) -> None:
        self._begin, self._seen = dict(begin), dict[Connection, Traffic]()

    def take(self, now: Mapping[Connection, Traffic]) -> None:
        self._seen.update(now)

    def by_peer(self) -> tuple[Peer, ...]:
        """The peers by address, those first to which most was sent again."""
        found: dict[str, Peer] = {}
        for (own_port, address, peer_port), now in self._seen.items():
            old = self._begin.get((own_port, address, peer_port), _NOTHING)
            if now.segments < old.segments:  # another connection that has the same ports
                old = _NOTHING
            peer = found.get(address, Peer(address, 0, 0, 0, 0.0))
            found[address] = Peer(
                address,
                peer.segments + now.segments - old.segments,
                peer.again + now.again - old.again,
                peer.confirmed_bytes + now.confirmed_bytes - old.confirmed_bytes,
                max(peer.busy_s, now.busy_s - old.busy_s),
            )
        return tuple(sorted(found.values(), key=lambda peer: (-peer.again, -peer.segments)))


_NOTHING = Traffic(0, 0, 0, 0.0)
