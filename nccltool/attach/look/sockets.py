"""The TCP connections of processes: what waits in them, and when data last came and went.

The kernel is asked by NETLINK_SOCK_DIAG, which answers any user for the network namespace of the asking thread.
Ranks in another namespace are asked for by a thread that enters it, which needs root; else /proc/PID/net tells
states and queues only.
"""

import ctypes
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from nccltool.attach.seen.process import SocketSeen
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources import tcp_peers
from nccltool.hosts.sources.base import Tree

_STATES = (
    *("", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "CLOSE", "CLOSE-WAIT"),
    *("LAST-ACK", "LISTEN", "CLOSING"),
)
"""Of include/net/tcp_states.h, as ss writes them."""
_ASKED = sum(1 << _STATES.index(name) for name in _STATES[1:] if name not in ("TIME-WAIT", "CLOSE"))
_MESSAGE = struct.Struct("=4BHH16s16sI8s5I")
"""struct inet_diag_msg."""
_ATTRIBUTE = struct.Struct("=HH")
_INFO = 2
_CLONE_NEWNET = 0x40000000
_MOST = 256
"""Sockets of one process."""
_TIMEOUT_S = 3.0

Found = Mapping[int, SocketSeen]
"""By inode."""


def of_processes(pids: Sequence[int], tree: Tree) -> dict[int, tuple[SocketSeen, ...] | Unknown]:
    """The connections of each process, by pid."""
    spaces = {pid: or_none(tree.link(f"/proc/{pid}/ns/net")) for pid in pids}
    tables: dict[str | None, Found] = {}
    found: dict[int, tuple[SocketSeen, ...] | Unknown] = {}
    for pid in pids:
        handles = _inodes(pid, tree)
        if isinstance(handles, Unknown):
            found[pid] = handles
            continue
        space = spaces[pid]
        if space not in tables:
            tables[space] = _table(pid, space, tree)
        found[pid] = tuple(tables[space][inode] for inode in sorted(handles) if inode in tables[space])[:_MOST]
    return found


def _inodes(pid: int, tree: Tree) -> set[int] | Unknown:
    names = tree.names(f"/proc/{pid}/fd")
    if isinstance(names, Unknown):
        return names
    links = (or_none(tree.link(f"/proc/{pid}/fd/{name}")) or "" for name in names)
    return {int(link[len("socket:[") : -1]) for link in links if link.startswith("socket:[")}


def _table(pid: int, space: str | None, tree: Tree) -> Found:
    """All connections of a process's network namespace."""
    if not tree.live:
        return _listed(pid, tree)
    here = or_none(tree.link("/proc/thread-self/ns/net"))
    try:
        with ThreadPoolExecutor(
            1
        ) as asker:  # a thread of its own, which may enter another namespace and then ends
            return asker.submit(_asked, pid if space != here else None).result(_TIMEOUT_S)
    except (OSError, TimeoutError):
        return _listed(pid, tree)


def _asked(pid: int | None) -> Found:
    if pid is not None:
        with Path(f"/proc/{pid}/ns/net").open("rb") as entered:
            if ctypes.CDLL(None, use_errno=True).setns(entered.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return dict(found for message in tcp_peers.messages(_ASKED) if (found := parsed(message)) is not None)


def parsed(message: bytes) -> tuple[int, SocketSeen] | None:
    """The inode and the connection of one answer; None when it is cut."""
    if len(message) < _MESSAGE.size:
        return None
    family, state, _, _, own_port, peer_port, own, peer, _, _, _, received, queued, _, inode = (
        _MESSAGE.unpack_from(message)
    )
    seen = SocketSeen(
        local=_end(_address(family, own), socket.ntohs(own_port)),
        peer=_end(_address(family, peer), socket.ntohs(peer_port)),
        state=_STATES[state] if state < len(_STATES) else str(state),
        send_queue_bytes=queued,
        receive_queue_bytes=received,
    )
    rest = message[_MESSAGE.size :]
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        if kind == _INFO:
            return inode, _with_info(seen, rest[_ATTRIBUTE.size : length])
        rest = rest[(max(length, _ATTRIBUTE.size) + 3) & ~3 :]
    return inode, seen


def _with_info(seen: SocketSeen, info: bytes) -> SocketSeen:
    """With what struct tcp_info tells (linux/tcp.h), which only grows at its end."""

    def word(at: int) -> int | None:
        return struct.unpack_from("=I", info, at)[0] if len(info) >= at + 4 else None

    def long_word(at: int) -> int | None:
        return struct.unpack_from("=Q", info, at)[0] if len(info) >= at + 8 else None

    return replace(
        seen,
        backoff=info[4] if len(info) > 4 else None,
        unacknowledged=word(24),
        last_sent_ms=word(44),
        last_received_ms=word(52),
        retransmissions=word(100),
        bytes_received=long_word(128),
        bytes_sent=long_word(200),
    )


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _address(family: int, raw: bytes) -> str:
    found = ipaddress.ip_address(raw[:4] if family == socket.AF_INET else raw)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def _listed(pid: int, tree: Tree) -> Found:
    """From /proc/PID/net/tcp and tcp6."""
    return {
        inode: seen
        for name in ("tcp", "tcp6")
        for line in or_none(tree.lines(f"/proc/{pid}/net/{name}")) or ()
        if (row := _row(line)) is not None
        for inode, seen in (row,)
    }


def _row(line: str) -> tuple[int, SocketSeen] | None:
    words = line.split()
    if len(words) < 10 or not words[0].rstrip(":").isdigit():
        return None
    queued, _, received = words[4].partition(":")
    state = int(words[3], 16)
    return int(words[9]), SocketSeen(
        local=_from_hex(words[1]),
        peer=_from_hex(words[2]),
        state=_STATES[state] if state < len(_STATES) else str(state),
        send_queue_bytes=int(queued, 16),
        receive_queue_bytes=int(received, 16),
        backoff=int(words[6], 16),
    )


def _from_hex(text: str) -> str:
    digits, _, port = text.partition(":")
    parts = (bytes.fromhex(digits[at : at + 8]) for at in range(0, len(digits), 8))
    raw = b"".join(part[::-1] if sys.byteorder == "little" else part for part in parts)
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    return _end(_address(family, raw), int(port, 16))
