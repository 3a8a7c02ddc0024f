"""Events of other nodes to node 0, over the store: for commands that were started one by one on each host.

One counter numbers the messages of all senders, so one reader takes them in order with one connection. A
sender that dies between taking a number and writing leaves a hole, which the reader steps over.
"""

import contextlib
import fcntl
import os
import queue
import signal
import threading
import time
from collections.abc import Callable

from torch.distributed import PrefixStore, TCPStore

from nccltool.core.findings import Subject
from nccltool.core.text import LineCutter
from nccltool.launch.finding_kinds import LEADER_GONE
from nccltool.launch.job import Job
from nccltool.worker.channel import Channel
from nccltool.worker.node.rendezvous import CONNECTION_ERRORS, StoreAddress, connect

_FLUSH_S = 5.0
_PIPE_BYTES = 2**20
"""Of the pipe to the relay: a snapshot of the host goes in before the relay starts to read."""
_POLL_S = 0.05
_PATIENCE = 40
"""Polls after which a hole is stepped over when later messages exist."""


class EventRelay:
    """Brings the events of other nodes to node 0; does nothing when all nodes are ours."""

    def __init__(self, job: Job, leads: bool, needed: bool, out_fd: int) -> None:
        self._leads, self._needed, self._out_fd = leads, needed, out_fd
        self._end: _Receiver | _Sender | None = None
        self._read_fd, self.events_fd = os.pipe() if needed and not leads else (-1, out_fd)
        if self._read_fd >= 0:
            with contextlib.suppress(OSError):  # over the limit of a user: it may wait then
                fcntl.fcntl(self._read_fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def start(self, address: StoreAddress, job: Job, senders: int) -> None:
        """Begin; our own processes have been forked."""
        if not self._needed:
            return

        def client() -> TCPStore:
            # longer than a rank or an agent tries: they know more of what is missing
            return connect(address, job.join_timeout_s + _FLUSH_S)

        if self._leads:
            self._end = _Receiver(self._out_fd, client, senders)
        else:
            os.close(self.events_fd)  # the forked processes hold it; its end is their end
            self._end = _Sender(self._read_fd, self._out_fd, client, lambda: self._lost(address))

    def finish(self) -> None:
        """Let what is under way arrive."""
        if self._end is not None:
            self._end.finish(_FLUSH_S)

    def _lost(self, address: StoreAddress) -> None:
        finding = LEADER_GONE.finding(
            subject=Subject(kind="host", name=address.host),
            message=f"the store at {address.host}:{address.port} is gone: node 0 ended the run or died",
            remedy="look at the output of node 0",
        )
        Channel(self._out_fd, None).report(finding)
        threading.Timer(1.0, lambda: os.killpg(os.getpgid(0), signal.SIGKILL)).start()


def _open(store: TCPStore) -> PrefixStore:
    return PrefixStore("nccltool/events", store)


class _Sender:
    """Sends what its node's processes write into a pipe, and passes it on to its own runner too."""

    def __init__(self, read_fd: int, out_fd: int, connect: Callable[[], TCPStore], lost: Callable[[], None]):
        self._read_fd, self._out_fd = read_fd, out_fd
        self._connect, self._lost = connect, lost
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # apart: our own runner hears of its ranks also while node 0 cannot be reached
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._send)]
        for thread in self._threads:
            thread.start()

    def finish(self, timeout_s: float) -> None:
        """Wait until all is sent; the pipe's writers must be gone."""
        for thread in self._threads:
            thread.join(timeout_s)

    def _read(self) -> None:
        buffer = LineCutter()
        while chunk := os.read(self._read_fd, 65536):
            lines = buffer.take(chunk)
            for line in lines:
                os.write(self._out_fd, line + b"\n")
            if lines:
                self._messages.put(b"\n".join(lines) + b"\n")
        self._messages.put(None)

    def _send(self) -> None:
        try:
            store = _open(self._connect())
            while (message := self._messages.get()) is not None:
                number = store.add("last", 1)
                store.set(f"{number}", message)
            store.add("finished", 1)
        except CONNECTION_ERRORS:
            self._lost()


class _Receiver:
    """Writes the messages of the other nodes to the runner, as if they were this node's."""

    def __init__(self, out_fd: int, connect: Callable[[], TCPStore], senders: int):
        self._out_fd, self._connect, self._senders = out_fd, connect, senders
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self, timeout_s: float) -> None:
        """Wait until every sender has finished."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            self._receive(_open(self._connect()))
        except CONNECTION_ERRORS:
            return  # the store went with the run

    def _receive(self, store: PrefixStore) -> None:
        number, looks = 1, 0
        while True:
            if store.check([str(number)]):
                self._write(store.get(str(number)))
                store.delete_key(str(number))
                number, looks = number + 1, 0
                continue
            time.sleep(_POLL_S)  # not store.wait: c10d logs two lines whenever nothing came
            last = store.add("last", 0)
            if last < number and store.add("finished", 0) >= self._senders:
                return
            looks = looks + 1 if last > number else 0
            if looks > _PATIENCE:
                number, looks = number + 1, 0

    def _write(self, message: bytes) -> None:
        for line in message.splitlines(keepends=True):
            os.write(self._out_fd, line)
