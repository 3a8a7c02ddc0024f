"""A RAS server of any version on localhost: listeners that share a port, as the ranks of a host do."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Self

from tests.attach.ras.states import State, json_of, speaks_json, text_of

Habit = Literal[
    "answers", "silent", "silent after STATUS", "half", "garbage", "huge line", "closes", "endless", "http"
]


@dataclass
class FakeRas:
    """Listeners on one port; each has a habit, and a document of its own where jobs share the port."""

    version: str
    state: State
    habits: tuple[Habit, ...] = ("answers",)
    others: State | None = None
    """What every second listener has: another job's."""
    family: socket.AddressFamily = socket.AF_INET
    asked: list[str] = field(default_factory=list)
    """Every line that any client sent."""

    def __enter__(self) -> Self:
        self.stop = threading.Event()
        self.sockets = [self._listening(0)]
        self.port: int = self.sockets[0].getsockname()[1]
        self.threads = [threading.Thread(target=self._serve, daemon=True)]
        self.turn = 0
        self.threads[0].start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop.set()
        for one in self.sockets:
            one.close()
        for thread in self.threads:
            thread.join(5)

    def _listening(self, port: int) -> socket.socket:
        one = socket.socket(self.family)
        one.bind(("::1" if self.family == socket.AF_INET6 else "127.0.0.1", port))
        one.listen(16)
        one.settimeout(0.1)
        return one

    def _serve(self) -> None:
        """The kernel picks a listener by a hash; here they take turns, so that a test is the same each time."""
        while not self.stop.is_set():
            try:
                connection, _ = self.sockets[0].accept()
            except TimeoutError:
                continue
            except OSError:
                return
            number, self.turn = self.turn, self.turn + 1
            thread = threading.Thread(target=self._talk, args=(connection, number), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _talk(self, connection: socket.socket, number: int) -> None:
        habit = self.habits[number % len(self.habits)]
        state = self.others if self.others and number % 2 == 0 else self.state
        with connection, suppress(OSError):
            connection.settimeout(5)
            if habit == "silent":
                self.stop.wait(5)
                return
            if habit == "closes":
                return
            reader = connection.makefile("rb")
            form = "text"
            for raw in reader:
                line = raw.decode().strip()
                self.asked.append(line)
                if "STATUS" in line.upper():
                    self._send(connection, habit, self._document(state, form, "VERBOSE" in line.upper()))
                    return
                reply, form = self._reply(line, form, habit)
                connection.sendall(reply)

    def _document(self, state: State, form: str, verbose: bool) -> bytes:
        return json_of(state, self.version) if form == "json" else text_of(state, self.version, verbose)

    def _reply(self, line: str, form: str, habit: Habit) -> tuple[bytes, str]:
        words = line.upper().split()
        if habit == "garbage":
            return bytes(range(128, 256)) + b"\n", form
        if habit == "huge line":
            return b"x" * 100_000, form
        if habit == "http":
            return b"HTTP/1.1 400 Bad Request\r\n\r\n", form
        if words[:2] == ["CLIENT", "PROTOCOL"]:
            return b"SERVER PROTOCOL 2\n", form
        if words[:1] == ["TIMEOUT"]:
            refusal = b"ERROR: Invalid timeout value " + line[8:].encode() + b"\n"
            return (b"OK\n" if words[1].isdigit() else refusal), form
        if words[:2] == ["SET", "FORMAT"] and speaks_json(self.version):
            return b"OK\n", words[2].lower()
        return b"ERROR: Unknown command " + line.encode() + b"\n", form

    def _send(self, connection: socket.socket, habit: Habit, document: bytes) -> None:
        if habit == "silent after STATUS":
            self.stop.wait(5)
        elif habit == "half":
            connection.sendall(document[: len(document) // 2])
        elif habit == "endless":
            self._endless(connection.sendall)
        else:
            for start in range(0, len(document), 700):
                connection.sendall(document[start : start + 700])

    def _endless(self, send: Callable[[bytes], None]) -> None:
        while not self.stop.is_set():
            send(b" " * 65536)
