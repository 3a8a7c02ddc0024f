"""The event stream: what ranks and their supervisors tell the runner over standard output.

An event is one line: the RS byte 0x1e, a JSON object, a newline (RFC 7464 text sequences). It is written
with one `write` of at most 4096 bytes (PIPE_BUF), so that lines of several processes do not mix. Every
other line is log text. Events cross ssh, srun, mpirun and kubectl as they are.
"""

from typing import Any

import msgspec

from nccltool.model import Finding, RankFacts

RECORD_SEPARATOR = b"\x1e"
MAX_LINE = 4096
"""PIPE_BUF on Linux: a write up to this size is atomic."""
SAMPLES_PER_EVENT = 180
"""Nanosecond integers of up to 19 digits that fit an event."""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    """Base of all events."""


class Spawned(Event, frozen=True, tag="spawned"):
    """A supervisor started the process of a rank."""

    rank: int
    node_rank: int
    host: str
    pid: int


class Hello(Event, frozen=True, tag="hello"):
    """A rank is up and says what it is."""

    facts: RankFacts


class World(Event, frozen=True, tag="world"):
    """Rank 0: everybody came and the checks before the start are passed."""

    world_size: int
    emulated: bool
    backend: str
    backend_version: str
    backend_reason: str
    steps: int


class Enter(Event, frozen=True, tag="enter"):
    """A rank begins a step."""

    rank: int
    step: int
    op: str
    bytes: int


class Samples(Event, frozen=True, tag="samples"):
    """Rank 0: nanoseconds per iteration, a stretch of them."""

    step: int
    ns: tuple[int, ...]


class Result(Event, frozen=True, tag="result"):
    """Rank 0: a step is done; its samples have been sent. The runner answers `saved` when it is on disk."""

    step: int
    op: str
    count: int
    bytes: int
    bytes_per_rank: int
    dtype: str
    reduce_op: str | None
    placement: str
    wrong: int | None


class WrongData(Event, frozen=True, tag="wrong"):
    """A rank found wrong elements in its receive buffer."""

    rank: int
    step: int
    op: str
    bytes: int
    elements: int
    first_index: int
    got: str
    expected: str
    source: str


class Reported(Event, frozen=True, tag="finding"):
    """A finding made by a worker."""

    finding: Finding


class Failed(Event, frozen=True, tag="error"):
    """A rank caught an exception."""

    rank: int
    in_collective: bool
    """Raised by a collective or by setting the group up: then it may only echo another rank's death."""
    text: str
    trace: str = ""


class Beat(Event, frozen=True, tag="beat"):
    """How far a rank is, as its supervisor sees it from outside."""

    rank: int
    phase: str
    step: int
    calls: int
    """Communication calls entered plus calls left in this phase: odd = inside a call."""
    state: str
    """Process state as in /proc/<pid>/stat: R, S, D, T (stopped), Z, or '' when it cannot be read."""


class Exited(Event, frozen=True, tag="exit"):
    """The process of a rank has ended."""

    rank: int
    code: int
    """Exit code, or minus the signal's number."""


class Log(Event, frozen=True, tag="log"):
    """Text that a rank's process wrote."""

    rank: int
    text: str


class Stack(Event, frozen=True, tag="stack"):
    """Where a rank that makes no progress is."""

    rank: int
    text: str


class Bye(Event, frozen=True, tag="bye"):
    """A rank is done, in order."""

    rank: int


AnyEvent = (
    Spawned
    | Hello
    | World
    | Enter
    | Samples
    | Result
    | WrongData
    | Reported
    | Failed
    | Beat
    | Exited
    | Log
    | Stack
    | Bye
)

_decoder = msgspec.json.Decoder(AnyEvent)
_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """The line of an event; text that would not fit is cut at its beginning."""
    line = _line(event)
    while len(line) > MAX_LINE:
        event = _shortened(event, len(line) - MAX_LINE)
        line = _line(event)
    return line


def _line(event: Event) -> bytes:
    return RECORD_SEPARATOR + _encoder.encode(event) + b"\n"


def _shortened(event: Event, by: int) -> Event:
    field, text = max(_texts(event).items(), key=lambda item: len(item[1]))
    assert len(text) > 3, "an event without long text fits"
    return msgspec.structs.replace(event, **{field: "..." + text[max(by, 16) + 3 :]})


def _texts(event: Event) -> dict[str, str]:
    fields: dict[str, Any] = {name: getattr(event, name) for name in event.__struct_fields__}
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def decode(line: bytes) -> AnyEvent | None:
    """The event of a line, or None for log text (also for a damaged event)."""
    if not line.startswith(RECORD_SEPARATOR):
        return None
    try:
        event: AnyEvent = _decoder.decode(line[1:])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return event
