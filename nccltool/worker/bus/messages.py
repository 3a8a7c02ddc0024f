"""What processes ask of the bus, and its answers: msgpack, checked against these types; nothing is executed."""

from typing import Literal

import msgspec

Op = Literal["set", "get", "add", "check", "wait", "delete", "swap", "append", "count", "who"]

UNANSWERED = frozenset[Op](("set", "append"))
"""As in torch's TCPStore, nobody waits for these: what the same process asks next comes after them."""


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """One call of a store."""

    op: Op
    keys: tuple[str, ...] = ()
    values: tuple[bytes, ...] = ()
    """Of set and append: one for each key; of swap: what is expected and what it becomes."""
    number: int = 0
    """Of add: the addend; of who: how long the answer is to be, at least."""
    timeout_s: float = 0.0
    """Of get and wait: how long keys may be missing."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Its result; `problem` says why there is none."""

    values: tuple[bytes, ...] = ()
    number: int = 0
    problem: str = ""


_requests = msgspec.msgpack.Decoder(Ask)
_answers = msgspec.msgpack.Decoder(Answer)


def encode(message: Ask | Answer) -> bytes:
    return msgspec.msgpack.encode(message)


def request_of(payload: bytes) -> Ask:
    """Raises msgspec.DecodeError."""
    return _requests.decode(payload)


def answer_of(payload: bytes) -> Answer:
    """Raises msgspec.DecodeError."""
    return _answers.decode(payload)
