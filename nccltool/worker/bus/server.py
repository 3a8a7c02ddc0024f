"""Serves the bus on the listening sockets of node 0, in a thread.

A connection is a stranger's until it has shown that it knows the secret of the run. Strangers share a bounded
number of places, each for a few seconds: where these are full, the oldest of the address that holds most of them
goes.
"""

import contextlib
import resource
import selectors
import socket
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
_READ = 2**16
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
        self._selector = selectors.DefaultSelector()
        self._strangers: dict[_Connection, None] = {}
        """In the order in which they came."""
        self._crowds = Counter[str]()
        """How many of them come from each address."""
        self._members: set[_Connection] = set()
        self._refused = Counter[str]()
        self._reported_at = 0.0
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="bus", daemon=True)

    def start(self) -> None:
        """Begin; nothing may be forked after it."""
        _allow_files()
        for listener in self._listeners:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, listener)
        self._selector.register(self._woken, selectors.EVENT_READ)
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
        self._selector.close()
        self._tell(time.monotonic(), at_once=True)

    def _serve(self) -> None:
        while True:
            now = time.monotonic()
            for key, _ in self._selector.select(self._pause(now)):
                if key.fileobj is self._woken:
                    return
                if not isinstance(key.data, _Connection):
                    self._accept(key.data)
                elif key.data in self._strangers or key.data in self._members:  # it was not closed meanwhile
                    self._turn(key.data)
            now = time.monotonic()
            self._give(self._board.late(now))
            self._end_strangers(now)
            self._tell(now)

    def _pause(self, now: float) -> float | None:
        """How long nothing needs to be done if nothing comes."""
        ends = [self._board.next_end(), self._reported_at + _REPORT_S if self._refused else None]
        oldest = next(iter(self._strangers), None)
        ends.append(oldest.since + STRANGER_S if oldest else None)
        soonest = min((end for end in ends if end is not None), default=None)
        return None if soonest is None else max(soonest - now, 0.0)

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
            self._make_room(_MOST_STRANGERS - 1)
            caller.setblocking(False)
            handshake = ServerSide(self._secret, self._purpose)
            stranger = _Connection(caller, str(address[0]), time.monotonic(), handshake)
            self._strangers[stranger] = None
            self._crowds[stranger.address] += 1
            self._selector.register(caller, selectors.EVENT_READ, stranger)
            self._send(stranger, handshake.greeting())

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
        self._selector.unregister(connection.socket)
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
        """One frame at a time: it asks the next thing when it has its answer."""
        came = member.came
        if len(came) < seal.FRAME_HEAD:
            came += _received(member.socket, _READ)
        if len(came) < seal.FRAME_HEAD:
            return
        head = bytes(came[: seal.FRAME_HEAD])
        whole = seal.FRAME_HEAD + seal.length_of(head)
        if len(came) < whole:
            came += _received(member.socket, min(whole - len(came), 2**20))
        if len(came) < whole:
            return
        assert member.sealed
        payload = member.sealed.opened(head, bytes(came[seal.FRAME_HEAD : whole]))
        del came[:whole]
        self._give(self._board.ask(member, messages.request_of(payload), time.monotonic()))

    # ---- answers

    def _give(self, answers: Sequence[tuple[object, Answer]]) -> None:
        for asker, answer in answers:
            assert isinstance(asker, _Connection)
            assert asker.sealed
            if asker in self._members:
                self._send(asker, asker.sealed.seal(messages.encode(answer)))

    def _send(self, connection: _Connection, text: bytes) -> None:
        connection.to_send += text
        try:
            self._flush(connection)
        except OSError:
            self._refuse(connection) if connection.handshake else self._close(connection)

    def _flush(self, connection: _Connection) -> None:
        with contextlib.suppress(BlockingIOError):
            connection.to_send = connection.to_send[connection.socket.send(connection.to_send) :]
        wanted = selectors.EVENT_WRITE if connection.to_send else selectors.EVENT_READ
        if self._selector.get_key(connection.socket).events != wanted:
            self._selector.modify(connection.socket, wanted, connection)

    def _tell(self, now: float, at_once: bool = False) -> None:
        """At most once a second: a flood is no reason for a flood of words."""
        if self._refused and (at_once or now >= self._reported_at + _REPORT_S):
            with contextlib.suppress(OSError):  # nobody hears us any more
                self._report(self._refused.total(), tuple(address for address, _ in self._refused.most_common(4)))
            self._refused.clear()
            self._reported_at = now


def _received(caller: socket.socket, most: int) -> bytes:
    """What is there. Raises EOFError at the end, OSError."""
    try:
        chunk = caller.recv(most)
    except BlockingIOError:
        return b""
    if not chunk:
        raise EOFError
    return chunk


def _allow_files() -> None:
    """Many systems allow 1024 open files, and more to those who ask: each rank has a connection or two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
