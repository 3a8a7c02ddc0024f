"""How both ends of a connection know that the other has the secret of the run, and seal what follows. Pure.

    server -> client   GREETING, its nonce
    client -> server   its nonce, its proof
    server -> client   WELCOME and its proof, or REFUSAL
    both               frames: length, HMAC-SHA256 over length, number of the frame and payload; payload

Each end draws a nonce, and the keys of the two directions are derived from both: what was recorded on one
connection means nothing on another, nor in the other direction, nor a second time on the same. Until a client has
shown its proof, the server reads PROOF_BYTES of it, and nothing that it sends decides over memory.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Literal

GREETING = b"nccltool bus 1\r\n"
WELCOME, REFUSAL = b"+", b"-"
_NONCE = 32
_MAC = hashlib.sha256().digest_size
_BLOCK = hashlib.sha256().block_size
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_LENGTH = 4
_NUMBER = 8
GREETING_BYTES = len(GREETING) + _NONCE
PROOF_BYTES = _NONCE + _MAC
WELCOME_BYTES = len(WELCOME) + _MAC
FRAME_HEAD = _LENGTH + _MAC
LARGEST = 2**24
"""Bytes of a payload. The largest that is known are the facts of all ranks: 1.2 KB each, 12 MB of ten thousand."""


Purpose = Literal[b"store", b"meeting"]
"""What a server is for. At the same port, a node first says who it is, and later serves the store."""


class Unsealed(Exception):
    """What came was not sealed by the other end, or not for this place in the order."""


class _Mac:
    """HMAC-SHA256 with one key (RFC 2104).

    Both pads are hashed once: with OpenSSL 3, hmac.digest takes 12 us for a short message, and this takes 1 us.
    """

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        assert len(key) <= _BLOCK, "RFC 2104 hashes longer keys first"
        padded = key.ljust(_BLOCK, b"\0")
        self._inner, self._outer = (hashlib.sha256(padded.translate(pad)) for pad in (_INNER, _OUTER))

    def of(self, *parts: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        for part in parts:
            inner.update(part)
        outer.update(inner.digest())
        return outer.digest()


@dataclass(frozen=True, slots=True)
class RunSecret:
    """What all processes of a run know, and nobody else. Empty: anyone can know it."""

    secret: bytes = field(repr=False)
    run_id: str
    _of_the_run: _Mac = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        of_the_run = hmac.digest(self.secret, GREETING + self.run_id.encode(), "sha256")
        object.__setattr__(self, "_of_the_run", _Mac(of_the_run))

    def key(self, use: bytes, *parts: bytes) -> bytes:
        """Of one use; parts are of fixed length, so that no two lists of them read the same."""
        return self._of_the_run.of(use.ljust(16), *parts)


class ServerSide:
    """The handshake, as the server sees it."""

    def __init__(self, secret: RunSecret, purpose: Purpose) -> None:
        self._secret, self._purpose, self._nonce = secret, purpose, secrets.token_bytes(_NONCE)

    def greeting(self) -> bytes:
        return GREETING + self._nonce

    def answer(self, proof: bytes) -> "tuple[bytes, Sealed | None]":
        """What to send, and the sealed connection; None = a stranger."""
        theirs, shown = proof[:_NONCE], proof[_NONCE:]
        if not hmac.compare_digest(shown, self._secret.key(b"client", self._nonce, theirs)):
            return REFUSAL, None
        nonces = (self._nonce, theirs)
        sealed = Sealed(own=self._secret.key(b"to client", *nonces), other=self._secret.key(b"to server", *nonces))
        return WELCOME + self._secret.key(self._purpose, *nonces), sealed


class ClientSide:
    """The handshake, as the client sees it."""

    def __init__(self, secret: RunSecret, purpose: Purpose, greeting: bytes) -> None:
        """Raises Unsealed when another program has answered."""
        if len(greeting) != GREETING_BYTES or not greeting.startswith(GREETING):
            raise Unsealed("another program answered")
        self._secret, self._purpose = secret, purpose
        self._nonces = (greeting[len(GREETING) :], secrets.token_bytes(_NONCE))

    def proof(self) -> bytes:
        return self._nonces[1] + self._secret.key(b"client", *self._nonces)

    def welcomed(self, welcome: bytes) -> "Sealed":
        """The sealed connection. Raises Unsealed when the server does not know the secret, or is there for another
        purpose."""
        if not hmac.compare_digest(welcome, WELCOME + self._secret.key(self._purpose, *self._nonces)):
            raise Unsealed("it does not know the secret of the run")
        keys = self._secret.key(b"to server", *self._nonces), self._secret.key(b"to client", *self._nonces)
        return Sealed(own=keys[0], other=keys[1])


class Sealed:
    """Frames in both directions, each numbered by its place."""

    def __init__(self, own: bytes, other: bytes) -> None:
        self._own, self._other = _Mac(own), _Mac(other)
        self._sent = self._taken = 0

    def seal(self, payload: bytes) -> bytes:
        """The next frame."""
        assert len(payload) <= LARGEST, "a payload that the other end would refuse"
        length, number = len(payload).to_bytes(_LENGTH), self._sent.to_bytes(_NUMBER)
        self._sent += 1
        return length + self._own.of(length, number, payload) + payload

    def opened(self, head: bytes, payload: bytes) -> bytes:
        """The payload of the next frame. Raises Unsealed."""
        number = self._taken.to_bytes(_NUMBER)
        if not hmac.compare_digest(head[_LENGTH:], self._other.of(head[:_LENGTH], number, payload)):
            raise Unsealed("a message was changed, repeated or left out on the way")
        self._taken += 1
        return payload


def length_of(head: bytes | bytearray) -> int:
    """Bytes of the payload behind the head of a frame. Raises Unsealed."""
    length = int.from_bytes(head[:_LENGTH])
    if length > LARGEST:
        raise Unsealed(f"a message of {length} bytes")
    return length
