"""Where torch's worker server of a rank listens: on the socket that the rank names, or on a TCP port.

Ports are not tried: other libraries take a question for data. torch.distributed.debug binds its port to all
addresses (`_WorkerServer("::", 0)`), and only one port of the rank may do so besides that of the store.
"""

import ctypes
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from nccltool.attach.seen.job import RankSample
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.unknown import Unknown

VARIABLE = "TORCH_WORKER_SERVER_SOCKET"
_THREAD = "pt_workerserver"
"""The name of its threads."""
_ALL_ADDRESSES = ("0.0.0.0", "[::]", "*")  # noqa: S104  # compared with, not bound
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerAddress:
    """One of the two."""

    pid: int
    path: str = ""
    port: int = 0

    def __str__(self) -> str:
        return self.path or f"TCP port {self.port}"

    def connected(self, timeout_s: float) -> socket.socket:
        """As the rank sees it: in its root folder, in its network namespace. Raises OSError."""
        if self.path:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.settimeout(timeout_s)
            try:
                made.connect(f"/proc/{self.pid}/root{self.path}")
            except OSError:
                made.close()
                raise
            return made
        # a thread of its own, which may enter another namespace and then ends
        with ThreadPoolExecutor(1) as caller:
            return caller.submit(_connected, self.pid, self.port, timeout_s).result()


def _connected(pid: int, port: int, timeout_s: float) -> socket.socket:
    there = Path(f"/proc/{pid}/ns/net")
    if there.readlink() != Path("/proc/thread-self/ns/net").readlink():
        with there.open("rb") as entered:
            if ctypes.CDLL(None, use_errno=True).setns(entered.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return socket.create_connection(("localhost", port), timeout_s)


def of_rank(rank: RankFound, sample: RankSample | None) -> ServerAddress | Unknown | None:
    """None: the rank has no such server."""
    if path := rank.setting(VARIABLE):
        return ServerAddress(pid=rank.pid, path=path)
    process = sample.process if sample is not None else None
    if sample is None or process is None or _THREAD not in process.threads:
        return None
    if sample.sockets is None:
        return Unknown("the ports that the rank listens on cannot be read")
    ports = _ports(rank, sample)
    if len(ports) != 1:
        return Unknown(f"{len(ports)} ports listen on all addresses, so that none was asked")
    return ServerAddress(pid=rank.pid, port=ports[0])


def _ports(rank: RankFound, sample: RankSample) -> list[int]:
    store = rank.master.rpartition(":")[2]
    ends = (one.local.rpartition(":") for one in sample.sockets or () if one.state == "LISTEN")
    found = {int(port) for host, _, port in ends if host in _ALL_ADDRESSES and port.isdecimal() and port != store}
    return sorted(found)
