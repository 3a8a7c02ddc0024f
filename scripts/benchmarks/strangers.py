"""What a stranger sends who reaches the port of a run, and knows everything about nccltool but the secret."""

import contextlib
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nccltool.launch import events, instructions
from nccltool.worker.bus import messages, seal
from nccltool.worker.bus.messages import Ask
from nccltool.worker.bus.seal import ClientSide, RunSecret, Sealed

RUN_ID = "joined"
_VERDICT = (
    Ask(op="add", keys=("nccltool/events/last",), number=1),
    Ask(
        op="set", keys=("nccltool/events/1",), values=(events.encode(events.Exited(rank=1, code=-9, told=False)),)
    ),
)
_COUNTERS = (
    Ask(op="add", keys=("nccltool/joined/nodes/claimed/1",), number=1),
    Ask(op="add", keys=("nccltool/events/finished",), number=9),
    Ask(op="delete", keys=("nccltool/ranks/greeting/1",)),
)
_DECISION = (Ask(op="set", keys=("nccltool/ranks/decision",), values=(b'{"run_id":"x","go":false}',)),)
_INSTRUCTIONS = b"".join(
    map(
        instructions.encode,
        (
            instructions.Go(nodes=1, places={0: (0, "127.0.0.1:1")}, nproc_per_node=1),
            instructions.TryAgain(goals={}),
            instructions.Saved(),
        ),
    )
)
_OF_TORCH = (
    b"\x00" + (0x3C85F7CE).to_bytes(4, "little") + b"\x01" + b"\x04\0\0\0\0\0\0\0last" + b"\x01\0\0\0\0\0\0\0002"
)
"""TCPStore's own language: VALIDATE and SET."""
_CROWD = 200


@dataclass(slots=True)
class Target:
    """A run under attack, on this host."""

    port: int
    secret: bytes
    """For the stranger who has it from another run; the others do not look."""
    tape: list[bytes] = field(default_factory=list)
    """What a process of the run has sent on each of its connections, as far as one has listened."""
    source: random.Random = field(default_factory=lambda: random.Random(1))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=5.0)

    def say(self, text: bytes) -> None:
        """Send it, and see what comes."""
        with self.connect() as stranger:
            stranger.sendall(text)
            stranger.recv(4096)
            stranger.recv(4096)


Attack = Callable[[Target], None]


def _forged(requests: Sequence[Ask], run_id: str = RUN_ID, knows: bool = False) -> Attack:
    """Well-formed messages, sealed with what the stranger takes for the secret, and sent without waiting."""

    def attack(target: Target) -> None:
        secret = RunSecret(target.secret if knows else b"a guess", run_id)
        with target.connect() as stranger:
            side = ClientSide(secret, b"store", stranger.recv(seal.GREETING_BYTES, socket.MSG_WAITALL))
            keys = (secret.key(use, *side._nonces) for use in (b"to server", b"to client"))
            sealed = Sealed(*keys)
            frames = b"".join(sealed.seal(messages.encode(request)) for request in requests)
            stranger.sendall(side.proof() + frames)
            stranger.recv(4096)

    return attack


def _replayed(target: Target) -> None:
    for text in target.tape[:4]:
        target.say(text)


def _cut_off(target: Target) -> None:
    for text in target.tape[:4]:
        with target.connect() as stranger:
            stranger.sendall(text[: target.source.randrange(1, len(text))])


def _changed(target: Target) -> None:
    for text in target.tape[:4]:
        at = target.source.randrange(len(text))
        target.say(text[:at] + bytes([text[at] ^ 1 << target.source.randrange(8)]) + text[at + 1 :])


def _reflected(target: Target) -> None:
    with target.connect() as stranger:
        greeting = stranger.recv(seal.GREETING_BYTES, socket.MSG_WAITALL)
        nonce = greeting[len(seal.GREETING) :]
        stranger.sendall(nonce + nonce + greeting)
        stranger.recv(4096)


def _flood(target: Target) -> None:
    for _ in range(_CROWD):
        with target.connect() as stranger:
            stranger.send(b"x" * 64)


def _silent(target: Target) -> None:
    with contextlib.ExitStack() as crowd:
        for _ in range(3 * _CROWD):
            crowd.enter_context(target.connect())
        time.sleep(1.0)


def _slow(target: Target) -> None:
    with target.connect() as stranger:
        for _ in range(40):
            stranger.send(b"x")
            time.sleep(0.05)


def _random(target: Target) -> None:
    for _ in range(10):
        target.say(target.source.randbytes(target.source.randrange(1, 9000)))


def _oversize(target: Target) -> None:
    target.say(os.urandom(seal.PROOF_BYTES) + b"\xff" * seal.FRAME_HEAD + bytes(2**22))


def _scanned(target: Target) -> None:
    for text in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", _OF_TORCH):
        with target.connect() as stranger:
            stranger.sendall(text)


ATTACKS: dict[str, Attack] = {
    "a forged verdict: rank 1 was killed": _forged(_VERDICT),
    "forged counters and a deleted key": _forged(_COUNTERS),
    "a forged decision of rank 0": _forged(_DECISION),
    "forged instructions of the runner": lambda target: target.say(_INSTRUCTIONS),
    "the secret, for another run id": _forged(_VERDICT, "another", knows=True),
    "what a process of the run has sent, again": _replayed,
    "the same, cut off": _cut_off,
    "the same, with one bit changed": _changed,
    "what node 0 has sent, sent back": _reflected,
    "a flood of connections": _flood,
    "600 silent connections": _silent,
    "a slow writer": _slow,
    "random bytes": _random,
    "an oversize message": _oversize,
    "HTTP, TLS, TCPStore, a port scan": _scanned,
}


class Tap:
    """A way to the port that keeps what clients send: somebody on the network who listens."""

    def __init__(self, port: int, tape: list[bytes]) -> None:
        self._port, self._tape = port, tape
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or a thread would go on waiting there
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                try:
                    callee = socket.create_connection(("127.0.0.1", self._port), timeout=5.0)
                except OSError:  # node 0 is not there yet
                    caller.close()
                    continue
                callee.settimeout(None)
                for one, other, keep in ((caller, callee, True), (callee, caller, False)):
                    threading.Thread(target=self._carry, args=(one, other, keep), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, keep: bool) -> None:
        came = bytearray()
        with contextlib.suppress(OSError):
            while chunk := one.recv(65536):
                came += chunk
                if keep and len(came) == len(chunk) + seal.PROOF_BYTES:  # its first message is there
                    self._tape.append(bytes(came))
                other.sendall(chunk)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        one.close()


def repeated(attack: Attack, target: Target, is_over: threading.Event) -> Iterator[None]:
    """The attack again and again until it is over; yields after each that reached the port."""
    while not is_over.wait(0.05):
        try:
            attack(target)
        except OSError:
            continue
        yield
