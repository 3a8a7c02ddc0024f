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
from functools import partial

from torch.distributed import PrefixStore

from nccltool.core.findings import Subject
from nccltool.core.text import LineCutter
from nccltool.launch.finding_kinds import LEADER_GONE
from nccltool.launch.job import Job
from nccltool.worker.bus.client import SecretDiffers
from nccltool.worker.channel import Channel
from nccltool.worker.node.rendezvous import CONNECTION_ERRORS, StoreAddress, connect

_PREFIX = "nccltool/events"
_FLUSH_S = 5.0
_PIPE_BYTES = 2**20
"""Of the pipe to the relay: a snapshot of the host goes in before the relay starts to read."""
_POLL_S = 0.05
_PATIENCE = 40
"""Polls after which a hole is stepped over when later messages exist."""


class EventRelay:
    """Brings the events of other nodes to node 0; does nothing when all nodes are ours."""

    def __init__(self, leads: bool, needed: bool, out_fd: int) -> None:
        self._leads, self._needed, self._out_fd = leads, needed, out_fd
        self._threads: list[threading.Thread] = []
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._read_fd, self.events_fd = os.pipe() if needed and not leads else (-1, out_fd)
        if self._read_fd >= 0:
            with contextlib.suppress(OSError):  # over the limit of a user: it may wait then
                fcntl.fcntl(self._read_fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def start(self, address: StoreAddress, job: Job, senders: int) -> None:
        """Begin; our own processes have been forked."""
        if not self._needed:
            return
        # longer than a rank or an agent tries: they know more of what is missing
        patience = job.join_timeout_s + _FLUSH_S
        if not self._leads:
            os.close(self.events_fd)  # the forked processes hold it; its end is their end
        # two that send: our own runner hears of its ranks also while node 0 cannot be reached
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (
                (partial(self._receive, address, patience, senders),)
                if self._leads
                else (self._read, partial(self._send, address, patience))
            )
        ]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Let what is under way arrive; the pipe's writers must be gone."""
        for thread in self._threads:
            thread.join(_FLUSH_S)

    def _read(self) -> None:
        """What the processes of this node write into the pipe goes to its own runner too."""
        buffer = LineCutter()
        while chunk := os.read(self._read_fd, 65536):
            lines = buffer.take(chunk)
            for line in lines:
                os.write(self._out_fd, line + b"\n")
            if lines:
                self._messages.put(b"\n".join(lines) + b"\n")
        self._messages.put(None)

    def _send(self, address: StoreAddress, patience_s: float) -> None:
        try:
            store = PrefixStore(_PREFIX, connect(address, patience_s))
            while (message := self._messages.get()) is not None:
                number = store.add("last", 1)
                store.set(f"{number}", message)
            store.add("finished", 1)
        except SecretDiffers:
            return  # those that cannot take part say so themselves
        except CONNECTION_ERRORS:
            finding = LEADER_GONE.finding(
                subject=Subject(kind="host", name=address.host),
                message=f"the store at {address.host}:{address.port} is gone: node 0 ended the run or died",
                remedy="check the output of node 0",
            )
            Channel(self._out_fd, None).report(finding)
            threading.Timer(1.0, lambda: os.killpg(os.getpgid(0), signal.SIGKILL)).start()

    def _receive(self, address: StoreAddress, patience_s: float, senders: int) -> None:
        """Write the messages of the other nodes to the runner, as if they were this node's."""
        with contextlib.suppress(*CONNECTION_ERRORS):  # the store goes with the run
            store = PrefixStore(_PREFIX, connect(address, patience_s))
            number, looks = 1, 0
            while True:
                if store.check([str(number)]):
                    for line in store.get(str(number)).splitlines(keepends=True):
                        os.write(self._out_fd, line)
                    store.delete_key(str(number))
                    number, looks = number + 1, 0
                    continue
                time.sleep(_POLL_S)  # not store.wait: c10d logs two lines whenever nothing came
                last = store.add("last", 0)
                if last < number and store.add("finished", 0) >= senders:
                    return
                looks = looks + 1 if last > number else 0
                if looks > _PATIENCE:
                    number, looks = number + 1, 0
