"""A process beside the agents of a node that watches the counters of its host's network while ranks run.

It also looks at the TCP connections now and then: what those of the ranks lost is gone with them.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from functools import partial
from pathlib import Path
from types import FrameType

from nccltool.core import processes
from nccltool.hosts import counters
from nccltool.hosts.sources import net, tcp_peers
from nccltool.hosts.sources.tcp_peers import TrafficSums
from nccltool.launch import events, stopped
from nccltool.worker.channel import Channel

_LOOK_S = 1.0
"""A look at a hundred connections takes a millisecond."""
_TELL_S = 10.0
"""How often what grew is told, for runs that are ended because they hang."""
MOST = 12
"""Counters and peers that are told, so that they fit an event."""
ADDRESSES = 8
ENDS_S = 3.0
"""How long it may take to tell the last."""


class Counting:
    """Begins with this; `end` it when the ranks have ended."""

    def __init__(self, channel: Channel) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until it can take it in order
        self._pid = processes.forked(partial(_count, channel))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def is_it(self, pid: int) -> bool:
        return pid == self._pid

    def end(self) -> None:
        """Have it tell what grew, and wait for that."""
        end = time.monotonic() + ENDS_S
        if self._is_over():
            return
        os.kill(self._pid, signal.SIGTERM)
        while time.monotonic() < end and not self._is_over():
            time.sleep(0.01)

    def _is_over(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:  # it was waited for with the others
            return True


def _count(channel: Channel) -> int:
    over = threading.Event()

    def finish(number: int, frame: FrameType | None) -> None:
        over.set()

    signal.signal(signal.SIGTERM, finish)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    Path("/proc/self/comm").write_text(stopped.COUNTING)
    watch = _Watch()
    while not over.wait(_LOOK_S):
        watch.look()
        if watch.is_time_to_tell():
            channel.emit(watch.told())
    watch.look()
    channel.emit(watch.told())
    return 0


class _Watch:
    def __init__(self) -> None:
        self._begun = self._told_at = time.monotonic()
        self._before = counters.read()
        self._sums: TrafficSums | None = None
        self._why_not: tuple[str, ...] = ()
        try:
            self._sums = TrafficSums(tcp_peers.connections())
        except OSError as error:
            self._why_not = (f"TCP connections: {error}",)

    def look(self) -> None:
        if self._sums is not None:
            with contextlib.suppress(OSError):  # the next one comes in a second
                self._sums.take(tcp_peers.connections())

    def is_time_to_tell(self) -> bool:
        return time.monotonic() - self._told_at > _TELL_S

    def told(self) -> events.Counted:
        self._told_at, after = time.monotonic(), counters.read()
        growth = sorted(
            counters.grown(self._before, after), key=lambda row: (row.device != counters.TCP, -row.more)
        )
        return events.Counted(
            host=socket.gethostname(),
            addresses=net.outward_addresses()[:ADDRESSES],
            seconds=self._told_at - self._begun,
            growth=tuple(growth)[:MOST],
            peers=self._sums.by_peer()[:MOST] if self._sums else (),
            unread=(*self._before.unread, *self._why_not)[:MOST],
        )
