"""The kernel's table of TCP connections: whose calls came, what nobody confirms, and where connections lead."""

import contextlib
import ipaddress
import os
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_FILES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_ESTABLISHED, _SYN_SENT, _SYN_RECEIVED = 1, 2, 3
"""TCP_ESTABLISHED, TCP_SYN_SENT and TCP_SYN_RECV of include/net/tcp_states.h: of the last, the caller was
answered, and did not confirm that."""
MOST = 64
"""Addresses; they must fit an event."""


@dataclass(frozen=True, slots=True)
class _Row:
    state: int
    own_port: int
    peer: str
    peer_port: int
    unconfirmed: int
    """Bytes that were sent, or wait to be."""
    repeats: int
    """How often the oldest of them was sent again."""
    inode: str


def half_open(port: int, tree: Tree | None = None) -> tuple[str, ...]:
    """Addresses whose calls to a port of ours have come and were answered, and that do not confirm the answer."""
    rows = _rows(tree or Tree())
    return tuple(dict.fromkeys(r.peer for r in rows if r.state == _SYN_RECEIVED and r.own_port == port))[:MOST]


def stuck_bytes(sessions: Collection[int], tree: Tree | None = None) -> dict[int, int]:
    """Bytes that processes of these sessions have sent over connections that were made, and that the kernel sends
    again and again because nobody confirms them. 0 = there are none; no entry = the session has no connection, as
    one that gives up closes it before it ends."""
    tree = tree or Tree()
    owners = dict(_sockets(tree, sessions))
    stuck: dict[int, int] = {}
    for inode, row in {row.inode: row for row in _rows(tree)}.items():  # a row may come twice while others change
        if row.state == _ESTABLISHED and inode in owners:
            stuck[owners[inode]] = stuck.get(owners[inode], 0) + (row.unconfirmed if row.repeats else 0)
    return stuck


def peers(sessions: Collection[int], tree: Tree | None = None) -> dict[int, tuple[str, int]]:
    """Address and port to which a connection of each of these sessions leads, where one is made or being made."""
    tree = tree or Tree()
    owners = dict(_sockets(tree, sessions))
    rows = (r for r in _rows(tree) if r.state in (_ESTABLISHED, _SYN_SENT) and r.inode in owners)
    return {owners[row.inode]: (row.peer, row.peer_port) for row in rows}


def _rows(tree: Tree) -> Iterator[_Row]:
    for file in _FILES:
        for line in or_none(tree.lines(file)) or ():
            words = line.split()
            if len(words) > 9 and words[0].rstrip(":").isdigit():
                own, peer = words[1].rpartition(":"), words[2].rpartition(":")
                queue, repeats = int(words[4].partition(":")[0], 16), int(words[6], 16)
                yield _Row(int(words[3], 16), int(own[2], 16), *_end(peer), queue, repeats, words[9])


def _sockets(tree: Tree, sessions: Collection[int]) -> Iterator[tuple[str, int]]:
    """The inodes of the sockets of these sessions, and whose each is."""
    for name in or_none(tree.names("/proc")) or ():
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if not name.isdigit() or (session := os.getsid(int(name))) not in sessions:
                continue
            for handle in or_none(tree.names(f"/proc/{name}/fd")) or ():
                target = or_none(tree.link(f"/proc/{name}/fd/{handle}")) or ""
                if target.startswith("socket:["):
                    yield target.removeprefix("socket:[").removesuffix("]"), session


def _end(words: tuple[str, str, str]) -> tuple[str, int]:
    """Address and port."""
    return _address(words[0]), int(words[2], 16)


def _address(digits: str) -> str:
    """Of words of 32 bits in the order of the machine; IPv4 where an IPv6 address stands for one."""
    words = [bytes.fromhex(digits[at : at + 8]) for at in range(0, len(digits), 8)]
    raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    found = ipaddress.ip_address(raw)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)
