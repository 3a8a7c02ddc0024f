"""What on this host stops ranks from meeting at an address or in a file: looked for before they try."""

import errno
import fcntl
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_RETRY = "choose another port, or end the program that has it: ss -ltnp"


class MeetingPoint(Protocol):
    """An address."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why ranks will not meet, and what helps."""

    reason: str
    remedy: str
    prevents_trial: bool = False
    """A trial could break a job that is running."""


def of_port(meeting: MeetingPoint) -> Obstacle | None:
    """A name without an address, an address of another host, or a port that is taken."""
    host, port = meeting.host, meeting.port
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return Obstacle(f"{host} does not resolve: {error.strerror}", "correct the name, /etc/hosts, or DNS")
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    far = [address for address in addresses if _bound(address, 0) == errno.EADDRNOTAVAIL]
    if len(far) == len(addresses):
        named = host if host in far else f"{host} ({', '.join(far[:4])})"
        return Obstacle(
            f"{named} is not an address of this host, where rank 0 runs", "use an address of rank 0's host"
        )
    for family in (socket.AF_INET, socket.AF_INET6):
        code = _bound("0.0.0.0" if family == socket.AF_INET else "::", port)  # noqa: S104 - as torch does
        if code == errno.EADDRINUSE:
            return Obstacle(f"port {port} is taken", _RETRY)
        if code == errno.EACCES:
            return Obstacle(f"port {port} is reserved for root", "choose a port from 1024 on")
    return None


def _bound(address: str, port: int) -> int:
    """0, or the errno of a bind there."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            if one.family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((address, port))
        except OSError as error:
            return error.errno or errno.EIO
    return 0


def of_file(path: Path) -> Obstacle | None:
    """A file that another run has written, a folder that is missing or read-only, or no locks."""
    try:
        if path.exists() and path.stat().st_size:
            return Obstacle(
                f"{path} has data of another run, which torch would read",
                f"rm {path} if that run has ended, and give each run a file of its own",
                prevents_trial=True,
            )
        with tempfile.TemporaryFile(dir=path.parent) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL):
            text = f"the file system of {path.parent} has no locks: {error.strerror}"
            return Obstacle(text, "mount it with locks (Lustre: -o flock), or use tcp://")
        return Obstacle(f"{path.parent} cannot be used: {error.strerror}", "name a folder that ranks may write")
    return None
