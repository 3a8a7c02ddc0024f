"""Which process of this host accepted a connection: all ranks of a host listen on RAS's port."""

import re
import socket
from collections.abc import Collection
from pathlib import Path

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_MOST_ROWS = 200_000


def accepted_by(connection: socket.socket, pids: Collection[int], proc: Path = Path("/proc")) -> int | None:
    """The process among `pids` that has the other end; 0 = none of them; None = cannot be told."""
    inode = _inode_of_other_end(connection, proc)
    if inode is None:
        return None
    unreadable = False
    for pid in pids:
        try:
            if inode in _sockets(proc / str(pid) / "fd"):
                return pid
        except OSError:  # gone, or another user's
            unreadable = True
    return None if unreadable or not pids else 0


def _inode_of_other_end(connection: socket.socket, proc: Path) -> str | None:
    own, other = connection.getsockname()[1], connection.getpeername()[1]
    name = "tcp6" if connection.family == socket.AF_INET6 else "tcp"
    try:
        with (proc / "self/net" / name).open() as rows:
            for number, row in enumerate(rows):
                cells = row.split()
                if number and len(cells) > 9 and _port(cells[1]) == other and _port(cells[2]) == own:
                    return cells[9] if cells[9] != "0" else None  # 0: not accepted yet
                if number > _MOST_ROWS:
                    return None
    except OSError:
        return None
    return None


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _sockets(folder: Path) -> set[str]:
    found = set()
    for entry in folder.iterdir():
        try:
            match = _SOCKET.fullmatch(str(entry.readlink()))
        except FileNotFoundError:  # closed since
            continue
        if match:
            found.add(match[1])
    return found
