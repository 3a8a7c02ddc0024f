"""A client of RAS that only reads: it sends CLIENT PROTOCOL, TIMEOUT, SET FORMAT, and STATUS, and nothing else."""

import socket
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from nccltool.attach.ras import json_document, text_document
from nccltool.attach.ras.address import RasAddress
from nccltool.attach.ras.document import NotRas, RasDocument, RasForm
from nccltool.attach.ras.listener import accepted_by

_HANDSHAKE_S = 1.0
"""NCCL's own client waits 1 s for a line of the handshake."""
_SPARE_S = 5.0
"""NCCL's own client waits 1 s + the timeout + 5 s for the document."""
_LONGEST_REPLY = 1024
_LARGEST = 256 << 20
"""Bytes of a document: a rank in a communicator takes about 0.5 KiB of JSON."""
_PIECE = 65536


@dataclass(frozen=True, kw_only=True, slots=True)
class RasOrder:
    """How to ask."""

    timeout_s: int = 5
    """NCCL's default; whole seconds, since 2.24 to 2.30 take nothing else. 0 would wait for ever."""
    deadline_s: float = 25.0
    """For everything, all connections included."""
    connections: int = 8
    """A stopped process takes its share of connections and never answers; so does another job."""
    verbose: bool = True
    """Text then names the ranks of sets of up to half of all, instead of up to 10."""

    def __post_init__(self) -> None:
        assert self.timeout_s > 0
        assert self.connections > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RasAnswer:
    """What came back from the RAS port of one host."""

    address: str
    document: RasDocument | None = None
    reason: str = ""
    """Why there is no document."""
    belongs: bool | None = None
    """Whether the document is of the job that was asked about; None = it names no process."""
    listener: int | None = None
    """The process that answered, where it is known."""
    connections: int = 0
    silent: int = 0
    """Connections that were accepted by the kernel and never answered: a share of the listeners is stopped."""
    foreign: int = 0
    """Connections that reached a process of another job."""
    took_s: float = 0.0
    at_s: float = 0.0
    """When it came, on the host's monotonic clock: two of one host give a rate."""


class _Silent(Exception):
    """No answer within the time for it."""


class _Refused(Exception):
    """The port answers, but not as RAS does, or no longer; the message says how."""


def ask(
    address: RasAddress,
    order: RasOrder,
    *,
    pids: Collection[int] = (),
    members: Collection[int] = (),
    clock: Callable[[], float] = time.monotonic,
) -> RasAnswer:
    """Ask once; a connection that no process of the job answers is followed by another one.

    `pids` are the job's processes on this host, as this host numbers them; `members` are its processes as they
    number themselves, which is what the document has. Where both are empty, any document will do.
    """
    return _Asking(address, order, frozenset(pids), frozenset(members), clock).run()


class _Asking:
    """The connections of one query."""

    def __init__(
        self,
        address: RasAddress,
        order: RasOrder,
        pids: frozenset[int],
        members: frozenset[int],
        clock: Callable[[], float],
    ) -> None:
        self.address, self.order, self.pids, self.members, self.clock = address, order, pids, members, clock
        self.began = clock()
        self.connections = self.silent = self.foreign = 0
        self.reason = ""
        self.is_spent = False
        """A query was sent and failed. Not again: a query is what has crashed jobs."""

    def run(self) -> RasAnswer:
        places = list(self.address.places)
        while places and not self.is_spent and self.connections < self.order.connections and self.left > 0:
            place = places[0]
            try:
                connection = self._connect(place)
            except OSError as error:
                self.reason = self.reason or f"{place} port {self.address.port}: {error.strerror or error}"
                places.pop(0)
                continue
            with connection:
                if answer := self._talk(connection):
                    return answer
        return self._answer()

    @property
    def left(self) -> float:
        return self.order.deadline_s - (self.clock() - self.began)

    def _connect(self, place: str) -> socket.socket:
        wait = max(0.01, min(_HANDSHAKE_S, self.left))
        return socket.create_connection((place, self.address.port), timeout=wait)

    def _talk(self, connection: socket.socket) -> RasAnswer | None:
        self.connections += 1
        reader = _Reader(connection, self.clock)
        try:
            form = self._handshake(reader)
            listener = accepted_by(connection, self.pids) if self.pids else None
            if listener == 0:
                self.foreign += 1
                self.reason = "the port belongs to processes of another job"
                return None
            self.is_spent = True
            data = self._document(reader)
            document = json_document.parse(data) if form == "json" else text_document.parse(data)
        except _Silent:
            self.silent += 1
            self.reason = f"no answer within {_HANDSHAKE_S:g} s from a process that listens"
            return None
        except (OSError, _Refused, NotRas) as error:
            self.reason = f"{error.strerror or error}" if isinstance(error, OSError) else str(error)
            return None
        belongs = self._belongs(document, listener)
        if belongs is False:
            self.is_spent = False
            self.foreign += 1
            self.reason = "the answer describes processes of another job"
            return None
        return self._answer(document, belongs, listener)

    def _handshake(self, reader: "_Reader") -> RasForm:
        until = self.clock() + min(_HANDSHAKE_S, self.left)
        hello = reader.exchange(b"CLIENT PROTOCOL 2", until)
        if not hello.startswith(b"SERVER PROTOCOL "):
            raise _Refused(f"what listens there is not RAS: it answered {hello[:60]!r}")
        until = self.clock() + min(_HANDSHAKE_S, self.left)
        if (reply := reader.exchange(b"TIMEOUT %d" % self.order.timeout_s, until)) != b"OK":
            raise _Refused(f"RAS refused the timeout: {reply[:60]!r}")
        until = self.clock() + min(_HANDSHAKE_S, self.left)
        is_json = reader.exchange(b"SET FORMAT json", until) == b"OK"  # older than 2.28.7: ERROR: Unknown command
        return "json" if is_json else "text"

    def _document(self, reader: "_Reader") -> bytes:
        reader.send(b"VERBOSE STATUS" if self.order.verbose else b"STATUS")
        wait = min(_HANDSHAKE_S + self.order.timeout_s + _SPARE_S, self.left)
        return reader.rest(self.clock() + wait)

    def _belongs(self, document: RasDocument, listener: int | None) -> bool | None:
        if listener:
            return True
        named = {pid for _, pid in document.members}
        if not named or not self.members:
            return None
        return bool(named & self.members)

    def _answer(
        self, document: RasDocument | None = None, belongs: bool | None = None, listener: int | None = None
    ) -> RasAnswer:
        late = document is None and not self.reason
        return RasAnswer(
            address=str(self.address),
            document=document,
            reason="" if document else "the deadline passed before a connection" if late else self.reason,
            belongs=belongs,
            listener=listener,
            connections=self.connections,
            silent=self.silent,
            foreign=self.foreign,
            took_s=self.clock() - self.began,
            at_s=self.clock(),
        )


class _Reader:
    """Lines, then everything, from one connection."""

    def __init__(self, connection: socket.socket, clock: Callable[[], float]) -> None:
        self.connection, self.clock = connection, clock
        self.data = b""

    def exchange(self, line: bytes, until: float) -> bytes:
        """The one line that answers `line`."""
        self.send(line)
        while b"\n" not in self.data:
            if len(self.data) > _LONGEST_REPLY:
                raise _Refused(f"what listens there is not RAS: a line of more than {_LONGEST_REPLY} bytes")
            piece = self._piece(until)
            if not piece:
                raise _Refused("the connection was closed during the handshake")
            self.data += piece
        reply, _, self.data = self.data.partition(b"\n")
        return reply.removesuffix(b"\r")

    def send(self, line: bytes) -> None:
        try:
            self.connection.sendall(line + b"\n")
        except TimeoutError as error:
            raise _Silent from error

    def rest(self, until: float) -> bytes:
        """Everything until the server closes."""
        pieces, size = [self.data], len(self.data)
        while size <= _LARGEST:
            try:
                piece = self._piece(until)
            except _Silent as error:
                raise NotRas("the document did not end within its time") from error
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            size += len(piece)
        raise NotRas(f"the document has more than {_LARGEST >> 20} MiB")

    def _piece(self, until: float) -> bytes:
        left = until - self.clock()
        if left <= 0:
            raise _Silent
        self.connection.settimeout(left)
        try:
            return self.connection.recv(_PIECE)
        except TimeoutError as error:
            raise _Silent from error
