"""Events of other nodes to node 0, over the store: for commands that were started one by one on each host.

One counter numbers the messages of all senders, so one reader takes them in order with one connection. A
sender that dies between taking a number and writing leaves a hole, which the reader steps over.
"""

import os
import queue
import threading
import time
from collections.abc import Callable

from torch.distributed import PrefixStore, TCPStore

from nccltool.core.text import LineCutter
from nccltool.worker.node.rendezvous import CONNECTION_ERRORS

_POLL_S = 0.05
_PATIENCE = 40
"""Polls after which a hole is stepped over when later messages exist."""


def _open(store: TCPStore) -> PrefixStore:
    return PrefixStore("nccltool/events", store)


class Sender:
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


class Receiver:
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
