"""Serves the bus on the listening sockets of node 0, in a thread.

A connection is a stranger's until it has shown that it knows the secret of the run. Strangers share a bounded
number of places, each for a few seconds: where these are full, the oldest of the address that holds most of them
goes.
"""

import contextlib
import resource
import select
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from nccltool.worker.bus import messages, seal
from nccltool.worker.bus.board import Board
from nccltool.worker.bus.messages import Answer
from nccltool.worker.bus.seal import Purpose, RunSecret, Sealed, ServerSide, Unsealed

STRANGER_S = 5.0
"""In which a connection must show its proof; a client has it within a round trip."""
_PROMPT_S = 1.0
"""Who has not shown it by then when the bus ends counts as a stranger, too."""
_MOST_STRANGERS = 512
_FILES = 64
"""That the process needs besides its connections."""
_ACCEPTED = 32
"""Connections that are taken in at a time, between the requests of those who belong here."""
_READ, _READ_LARGE = 2**16, 2**20
_REPORT_S = 1.0

Report = Callable[[int, tuple[str, ...]], None]
"""Takes how many more connections were refused, and from where."""


@dataclass(eq=False, slots=True)
class _Connection:
    """One caller."""

    socket: socket.socket
    address: str
    since: float
    handshake: ServerSide | None
    """None = it has shown its proof."""
    sealed: Sealed | None = None
    came: bytearray = field(default_factory=bytearray)
    to_send: bytes = b""
    is_full: bool = False
    """It does not read what it is sent, and is waited for."""


class Server:
    """Answers who knows the secret, and counts who does not."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        secret: RunSecret,
        report: Report,
        purpose: Purpose = b"store",
        name: str = "",
    ) -> None:
        self._listeners, self._secret, self._purpose, self._report = listeners, secret, purpose, report
        self._board = Board(name)
        self._epoll = select.epoll()
        self._connections: dict[int, _Connection] = {}
        """By file descriptor."""
        self._strangers: dict[_Connection, None] = {}
        """In the order in which they came."""
        self._crowds = Counter[str]()
        """How many of them come from each address."""
        self._members: set[_Connection] = set()
        self._refused = Counter[str]()
        self._reported_at = 0.0
        self._files = 0
        """As many as the process may open."""
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="bus", daemon=True)

    def start(self) -> None:
        """Begin; nothing may be forked after it."""
        self._files = _allow_files()
        for listener in self._listeners:
            listener.setblocking(False)
            self._epoll.register(listener, select.EPOLLIN)
        self._epoll.register(self._woken, select.EPOLLIN)
        self._thread.start()

    def stop(self) -> None:
        """Close everything, the listening sockets too, and report what was refused. Twice does no harm."""
        self._wake.close()
        if self._thread.is_alive():
            self._thread.join()
        late = time.monotonic() - _PROMPT_S
        self._refused.update(one.address for one in self._strangers if one.since < late)
        callers = [one.socket for one in (*self._members, *self._strangers)]
        for one in (*callers, *self._listeners, self._woken):
            one.close()
        self._epoll.close()
        self._tell(time.monotonic(), at_once=True)

    def _serve(self) -> None:
        listeners = {listener.fileno(): listener for listener in self._listeners}
        while True:
            ready = self._epoll.poll(self._pause())
            for number, _ in ready:
                connection = self._connections.get(number)
                if connection is not None:  # else it was closed meanwhile, or it is no connection
                    self._turn(connection)
                elif number == self._woken.fileno():
                    return
            # after the connections: a number that was closed in this turn may be a new connection's
            for number in listeners.keys() & {number for number, _ in ready}:
                self._accept(listeners[number])
            self._look_at_clock()

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        self._give(self._board.late(now))
        self._end_strangers(now)
        self._tell(now)

    def _pause(self) -> float | None:
        """How long nothing needs to be done if nothing comes."""
        ends = [self._board.next_end(), self._reported_at + _REPORT_S if self._refused else None]
        oldest = next(iter(self._strangers), None)
        ends.append(oldest.since + STRANGER_S if oldest else None)
        soonest = min((end for end in ends if end is not None), default=None)
        return None if soonest is None else max(soonest - time.monotonic(), 0.0)

    # ---- connections

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED):
            try:
                caller, address = listener.accept()
            except BlockingIOError:
                return
            except OSError:  # it is gone again; or there are too many files, and strangers hold the most
                self._make_room(len(self._strangers) // 2)
                return
            self._make_room(self._places() - 1)
            caller.setblocking(False)
            handshake = ServerSide(self._secret, self._purpose)
            stranger = _Connection(caller, str(address[0]), time.monotonic(), handshake)
            self._strangers[stranger] = None
            self._crowds[stranger.address] += 1
            self._connections[caller.fileno()] = stranger
            self._epoll.register(caller, select.EPOLLIN)
            self._send(stranger, handshake.greeting())

    def _places(self) -> int:
        """Of strangers: they leave files to the rest of the process, whatever the limit is."""
        return max(min(_MOST_STRANGERS, self._files - _FILES - len(self._members)), 1)

    def _make_room(self, most: int) -> None:
        while len(self._strangers) > most:
            crowd = max(self._crowds, key=self._crowds.__getitem__)
            self._refuse(next(one for one in self._strangers if one.address == crowd))

    def _end_strangers(self, now: float) -> None:
        while self._strangers and (oldest := next(iter(self._strangers))).since + STRANGER_S <= now:
            self._refuse(oldest)

    def _refuse(self, stranger: _Connection) -> None:
        self._refused[stranger.address] += 1
        self._close(stranger)

    def _close(self, connection: _Connection) -> None:
        self._no_stranger(connection)
        self._members.discard(connection)
        self._board.forget(connection)
        del self._connections[connection.socket.fileno()]
        self._epoll.unregister(connection.socket)
        connection.socket.close()

    def _no_stranger(self, connection: _Connection) -> None:
        if connection in self._strangers:
            del self._strangers[connection]
            self._crowds[connection.address] -= 1
            self._crowds += Counter()  # without those that have none left

    def _turn(self, connection: _Connection) -> None:
        """It can be read from, or written to."""
        try:
            if connection.to_send:
                self._flush(connection)
            elif connection.handshake is not None:
                self._hear_stranger(connection, connection.handshake)
            else:
                self._hear(connection)
            while connection in self._members and not connection.to_send and (frame := _frame(connection.came)):
                self._take(connection, *frame)
        except (OSError, EOFError):
            self._refuse(connection) if connection.handshake else self._close(connection)
        except (Unsealed, msgspec.DecodeError, ValueError, IndexError, TypeError):
            self._refuse(connection)

    def _hear_stranger(self, stranger: _Connection, handshake: ServerSide) -> None:
        wanted = seal.PROOF_BYTES - len(stranger.came)
        stranger.came += _received(stranger.socket, wanted)
        if len(stranger.came) < seal.PROOF_BYTES:
            return
        answer, sealed = handshake.answer(bytes(stranger.came))
        if sealed is None:
            with contextlib.suppress(OSError):
                stranger.socket.send(answer)
            self._refuse(stranger)
            return
        stranger.came.clear()
        stranger.handshake, stranger.sealed = None, sealed
        self._no_stranger(stranger)
        self._members.add(stranger)
        stranger.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._send(stranger, answer)

    def _hear(self, member: _Connection) -> None:
        came = member.came
        wanted = seal.FRAME_HEAD + seal.length_of(came) - len(came) if len(came) >= seal.FRAME_HEAD else 0
        came += _received(member.socket, max(_READ, min(wanted, _READ_LARGE)))

    def _take(self, member: _Connection, head: bytes, payload: bytes) -> None:
        assert member.sealed
        request = messages.request_of(member.sealed.opened(head, payload))
        self._give(self._board.ask(member, request, time.monotonic()))

    # ---- answers

    def _give(self, answers: Sequence[tuple[object, Answer]]) -> None:
        for asker, answer in answers:
            assert isinstance(asker, _Connection)
            assert asker.sealed
            if asker in self._members:
                text = messages.encode(answer)
                if len(text) > seal.LARGEST:  # of many keys
                    text = messages.encode(Answer(problem=f"an answer of {len(text)} bytes is too long"))
                self._send(asker, asker.sealed.seal(text))

    def _send(self, connection: _Connection, text: bytes) -> None:
        connection.to_send += text
        try:
            self._flush(connection)
        except OSError:
            self._refuse(connection) if connection.handshake else self._close(connection)

    def _flush(self, connection: _Connection) -> None:
        with contextlib.suppress(BlockingIOError):
            connection.to_send = connection.to_send[connection.socket.send(connection.to_send) :]
        if bool(connection.to_send) != connection.is_full:
            connection.is_full = not connection.is_full
            self._epoll.modify(connection.socket, select.EPOLLOUT if connection.is_full else select.EPOLLIN)

    def _tell(self, now: float, at_once: bool = False) -> None:
        """At most once a second: a flood is no reason for a flood of words."""
        if self._refused and (at_once or now >= self._reported_at + _REPORT_S):
            with contextlib.suppress(OSError):  # nobody hears us any more
                self._report(self._refused.total(), tuple(address for address, _ in self._refused.most_common(4)))
            self._refused.clear()
            self._reported_at = now


def _frame(came: bytearray) -> tuple[bytes, bytes] | None:
    """Take the first frame, its head and its payload; None when it is not whole. Raises Unsealed."""
    if len(came) < seal.FRAME_HEAD:
        return None
    end = seal.FRAME_HEAD + seal.length_of(came)
    if len(came) < end:
        return None
    frame = bytes(came[: seal.FRAME_HEAD]), bytes(came[seal.FRAME_HEAD : end])
    del came[:end]
    return frame


def _received(caller: socket.socket, most: int) -> bytes:
    """What is there. Raises EOFError at the end, OSError."""
    try:
        chunk = caller.recv(most)
    except BlockingIOError:
        return b""
    if not chunk:
        raise EOFError
    return chunk


def _allow_files() -> int:
    """How many files may be open: many systems allow 1024, and more to those who ask. Each rank has a connection
    or two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard
