"""Whether data of a rank still flows while it stands in one call: over a slow path, a call may take long."""

import contextlib

from nccltool.core import processes
from nccltool.hosts.sources import tcp_peers

LEAST_BYTES = 64 << 10
"""In a second: 0.5 Mbit/s, which any network of hosts carries. What libraries say of being alive is some bytes."""


class DataFlow:
    """Of the TCP connections of one process to other hosts. Other networks do not tell whose data they carry."""

    def __init__(self, pid: int) -> None:
        self._pid, self._before = pid, -1

    def has_flowed(self) -> bool:
        """Whether it carried more since the last look, a second ago."""
        before, self._before = self._before, self._carried()
        return before >= 0 and self._before - before >= LEAST_BYTES

    def _carried(self) -> int:
        """-1 = the kernel does not tell of connections here."""
        with contextlib.suppress(OSError):
            sockets = processes.sockets(self._pid)
            return tcp_peers.carried_bytes(sockets) if sockets else 0
        return -1

    def forget(self) -> None:
        """The process got on by itself."""
        self._before = -1
