"""Writing events to the runner, and hearing from it, over inherited file descriptors."""

import os
import select

from nccltool.core.findings import Finding
from nccltool.launch.events import Event, Refused, Reported, encode


class Channel:
    """The way to the runner. Every process of a node holds a copy of both descriptors."""

    def __init__(self, out_fd: int, in_fd: int | None) -> None:
        self._out_fd = out_fd
        self._in_fd = in_fd

    def emit(self, *events: Event) -> None:
        """Send events, each in one write."""
        for event in events:
            os.write(self._out_fd, encode(event))

    def report(self, *findings: Finding) -> None:
        self.emit(*map(Reported.of, findings))

    def refused(self, connections: int, addresses: tuple[str, ...]) -> None:
        """Report connections that did not have the secret of the run."""
        self.emit(Refused(connections=connections, addresses=addresses))

    def wait_for_line(self, timeout_s: float) -> str | None:
        """The next line of the runner; None when none came in time. Raises EOFError when the runner is gone."""
        if self._in_fd is None:
            return ""
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self._in_fd], [], [], timeout_s)
            if not ready:
                return None
            byte = os.read(self._in_fd, 1)  # one at a time: what follows belongs to another reader
            if not byte:
                raise EOFError("the runner is gone")
            line += byte
        return line.decode().rstrip("\n")
