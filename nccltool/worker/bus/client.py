"""A process's connection to the bus."""

import socket
import threading
import time
from dataclasses import dataclass

import msgspec

from nccltool.worker.bus import messages, seal
from nccltool.worker.bus.messages import UNANSWERED, Answer, Ask
from nccltool.worker.bus.seal import ClientSide, Purpose, RunSecret, Sealed, Unsealed

RETRY_S = 0.2
_ATTEMPT_S = 10.0
"""In which a server must have greeted and welcomed: it may be one process of a thousand ranks."""
_REFUSED_S = 5.0
"""How long one that refuses us is asked again: at the same port, another run may just be ending."""
_READ = 2**16
_ANSWER_S = 60.0
"""How much later than asked for an answer may come."""


class SecretDiffers(ConnectionError):
    """What answers there has another secret, or another run."""


class Late(TimeoutError):
    """What was waited for did not come."""


@dataclass(frozen=True, slots=True)
class BusAddress:
    """Where the bus of a run is, and what opens it."""

    host: str
    port: int
    secret: RunSecret
    purpose: Purpose = b"store"


class Connection:
    """An open connection; its calls may come from any thread."""

    def __init__(self, connected: socket.socket, sealed: Sealed) -> None:
        self._socket, self._sealed = connected, sealed
        self._lock = threading.Lock()
        self._timeout_s: float | None = None

    def ask(self, request: Ask, patience_s: float = _ANSWER_S) -> Answer:
        """The answer, which may come so much later than the request says; an empty one where nobody waits for it.
        Raises Late, and OSError when the bus is gone."""
        with self._lock:
            try:
                answer = self._asked(request, request.timeout_s + patience_s)
            except (Unsealed, msgspec.DecodeError) as error:
                self._socket.close()
                raise ConnectionError(f"the bus of the run: {error}") from error
            except BaseException:
                self._socket.close()  # or the next would take this one's answer for its own
                raise
        if answer.problem:
            raise Late(answer.problem)
        return answer

    def _asked(self, request: Ask, timeout_s: float) -> Answer:
        if self._timeout_s != timeout_s:
            self._socket.settimeout(timeout_s)
            self._timeout_s = timeout_s
        self._socket.sendall(self._sealed.seal(messages.encode(request)))
        return Answer() if request.op in UNANSWERED else messages.answer_of(self._payload())

    def _payload(self) -> bytes:
        """Of the next frame, which mostly comes in one piece. Raises OSError, Unsealed."""
        came = _received(self._socket, _READ)
        if len(came) < seal.FRAME_HEAD:
            came += _exactly(self._socket, seal.FRAME_HEAD - len(came))
        head, payload = came[: seal.FRAME_HEAD], came[seal.FRAME_HEAD :]
        missing = seal.length_of(head) - len(payload)
        if missing > 0:
            payload += _exactly(self._socket, missing)
        return self._sealed.opened(head, payload)

    def close(self) -> None:
        self._socket.close()


def connect(address: BusAddress, patience_s: float) -> Connection:
    """A connection; tries until the time is up. Raises OSError, SecretDiffers among them."""
    end, refused_at = time.monotonic() + patience_s, None
    while True:
        try:
            return attempt(address, min(max(end - time.monotonic(), RETRY_S), _ATTEMPT_S))
        except SecretDiffers:
            refused_at = refused_at or time.monotonic()
            if time.monotonic() > min(end, refused_at + _REFUSED_S):
                raise
        except OSError:
            if time.monotonic() > end - RETRY_S:
                raise
        time.sleep(RETRY_S)


def attempt(address: BusAddress, timeout_s: float) -> Connection:
    """The same, once."""
    connected = socket.create_connection((address.host, address.port), timeout=timeout_s)
    try:
        return secured(connected, address)
    except BaseException:
        connected.close()
        raise


def secured(connected: socket.socket, address: BusAddress) -> Connection:
    """The same over a connection that is there."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(connected, _sealed(connected, address))


def _sealed(connected: socket.socket, address: BusAddress) -> Sealed:
    try:
        side = ClientSide(address.secret, address.purpose, _exactly(connected, seal.GREETING_BYTES))
        connected.sendall(side.proof())
        said = _exactly(connected, 1)
        if said == seal.REFUSAL:
            raise SecretDiffers("it has another secret, or belongs to another run")
        return side.welcomed(said + _exactly(connected, seal.WELCOME_BYTES - 1))
    except Unsealed as error:
        raise SecretDiffers(str(error)) from error


def _exactly(connected: socket.socket, count: int) -> bytes:
    """Raises OSError when it ends before."""
    came = bytearray()
    while len(came) < count:
        came += _received(connected, min(count - len(came), _READ))
    return bytes(came)


def _received(connected: socket.socket, most: int) -> bytes:
    chunk = connected.recv(most)
    if not chunk:
        raise ConnectionError("Connection closed by the bus of the run")
    return chunk
