"""A dump of torch's flight recorder: what one rank called, as JSON or, when it is trusted, as a pickle."""

import math
import pickle
import pickletools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes
from nccltool.triage.logs.base import LONGEST_TEXT, LogEvent

_HEAD = 1 << 16
"""Bytes of a file in which the first entry of a dump must stand."""
_LARGEST = 256 << 20
"""Bytes of a dump: the default of 2,000 entries, with deep stacks, takes about 10 MB."""
_FEW = 1_000_000
_NUMBERED = ("PUT", "BINPUT", "LONG_BINPUT")
_RANK = re.compile(r"(\d{1,7})(?:\.json)?$")
_NOT_AS_EXPECTED = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    EOFError,
    OverflowError,
    MemoryError,
)
_OWN_INPUTS = re.compile(r"all_?to_?all|scatter$|_v(?:_single)?$|coalesced")
"""Operations whose ranks may give inputs of different sizes: torch's analyser leaves the same ones out."""
_OWN_OUTPUTS = re.compile(r"all_?to_?all|(?<!all_)(?<!all)gather$|_v(?:_single)?$|coalesced")
_MESSAGE = re.compile(r"(?P<kind>send|recv) (?P<own>\d{1,7})(?:->|<-)(?P<peer>\d{1,7})$")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedCall:
    """One collective, as one rank made it."""

    op: str
    sizes: str
    dtypes: str
    compared: tuple[str, ...]
    """What must be the same on all ranks."""
    finished: bool
    at: str
    """Where the program made the call, as the end of a sentence; empty where the dump does not have it."""

    @property
    def told(self) -> str:
        return " ".join(part for part in (self.op, self.sizes, self.dtypes) if part)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedMessage:
    """One send or recv, as one rank called it; ranks are those of the world."""

    kind: str
    source: int
    target: int
    elements: int
    sizes: str
    dtypes: str
    finished: bool
    batch: int
    """Messages of one batch have the same number: their order does not matter."""
    at: str

    @property
    def told(self) -> str:
        peer = f"send to rank {self.target}" if self.kind == "send" else f"recv from rank {self.source}"
        return " ".join(part for part in (peer, self.sizes, self.dtypes) if part)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecorderDump:
    """What one rank recorded: process group -> sequence number -> call."""

    file: str
    rank: int
    groups: Mapping[str, Mapping[int, RecordedCall]]
    messages: tuple[RecordedMessage, ...] = ()
    """In the order in which they were called."""
    complete: bool = True
    """Nothing was dropped: the recorder is a ring buffer."""
    world: frozenset[int] = field(default_factory=frozenset)
    """All ranks that the process groups name; empty = the dump does not tell."""

    def shows(self, kind: str, text: str, fields: Mapping[str, str], rank: int | None = None) -> LogEvent:
        """A failure; of the rank that wrote the dump, unless it is told of another one."""
        clean = "".join(letter if letter.isprintable() else "?" for letter in text)[:LONGEST_TEXT]
        return LogEvent(
            kind=kind,
            role="failure",
            text=clean,
            file=self.file.encode(errors="backslashreplace").decode(),  # documents are UTF-8
            line=1,
            rank=self.rank if rank is None else rank,
            fields=fields,
        )


def is_named_so(file: str) -> bool:
    """Whether a dump could have this name: the rank is at its end."""
    return bool(_RANK.search(file))


def dump(file: str, trust_pickle: bool = False) -> RecorderDump | None:
    """A dump of the flight recorder; None when the file is something else, or does not tell its rank.

    Raises BadInput for a pickled one that is not to be trusted.
    """
    named = _RANK.search(file)
    if file == "-" or named is None:
        return None
    try:
        if not Path(file).is_file():  # what a pipe says is said once: it is read as a log
            return None
        with Path(file).open("rb") as opened:
            head = opened.read(_HEAD)
            if not head.lstrip().startswith((b"{", b"\x80")) or b"entries" not in head:
                return None
            data = head + opened.read(_LARGEST)
        if len(data) > _LARGEST:
            raise BadInput(f"{file} is larger than {format_bytes(_LARGEST)}", "leave it out")
        document = _document(file, data, trust_pickle)
        return _dump(file, int(named[1]), document) if "pg_config" in document else None
    except (OSError, RecursionError, msgspec.DecodeError, pickle.UnpicklingError, *_NOT_AS_EXPECTED):
        return None  # it is read as a log, and who cannot read it says so there


def of_json(source: str, rank: int, data: bytes) -> tuple[RecorderDump, Mapping[str, Any]]:
    """What a recorder answers that is asked, and the document as it came. Raises ValueError."""
    try:
        document = msgspec.json.decode(data)
        return _dump(source, rank, document), document
    except (RecursionError, msgspec.DecodeError, *_NOT_AS_EXPECTED) as error:
        raise ValueError(f"{source}: not the flight recorder's JSON: {error}") from error


def _document(file: str, data: bytes, trust_pickle: bool) -> Any:
    if not data.startswith(b"\x80"):
        return msgspec.json.decode(data)
    if not trust_pickle:
        raise BadInput(
            f"{file} is a pickled flight recorder dump, and a pickle can run code",
            "pass --trust-pickle if you trust its author or dump JSON",
        )
    _check_memo(data)
    document = _Plain(BytesIO(data)).load()
    _check_extent(document, max(len(data), _FEW))
    return document


def _check_memo(data: bytes) -> None:
    """The highest number that a pickle gives an object decides what Python allocates. Raises UnpicklingError."""
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in _NUMBERED and int(argument or 0) > len(data):
            raise pickle.UnpicklingError(f"object {argument} in {len(data)} bytes")


def _check_extent(document: Any, most: int) -> None:
    """Lists that hold one list many times, some levels deep, are small in a file and endless when they are walked.

    Raises UnpicklingError for more than `most` elements.
    """
    count, rest = 0, [document]
    while rest:
        one = rest.pop()
        parts = one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ()
        count += len(parts)
        if count > most:
            raise pickle.UnpicklingError("it refers to itself too often")
        rest += parts


class _Plain(pickle.Unpickler):
    """Numbers, texts, lists and dictionaries, which is all that a dump consists of: no class, no function."""

    def find_class(self, module: str, name: str) -> Any:
        """Nothing is looked up."""
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in a dump")


def _dump(file: str, rank: int, document: Any) -> RecorderDump:
    entries = document["entries"]
    members = dict(_members(document["pg_config"]))
    groups: dict[str, dict[int, RecordedCall]] = {}
    for entry in entries:
        if not entry["is_p2p"]:
            groups.setdefault(str(entry["process_group"][0]), {})[int(entry["collective_seq_id"])] = _call(entry)
    return RecorderDump(
        file=file,
        rank=rank,
        groups=groups,
        messages=tuple(_messages(entries, members)),
        complete=min((int(entry.get("record_id", 0)) for entry in entries), default=0) == 0,
        world=frozenset(rank for ranks in members.values() for rank in ranks),
    )


def _members(config: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Process group -> its ranks in order. Gloo gives groups no name, and may leave their ranks out."""
    for name, about in config.items():
        ranks = about.get("ranks", ()) if isinstance(about, Mapping) else ()
        numbers = re.findall(r"\d{1,7}", ranks) if isinstance(ranks, str) else ranks
        yield str(name), tuple(sorted(int(number) for number in numbers))


def _finished(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("retired")) or entry.get("state") == "completed"


def _call(entry: Mapping[str, Any]) -> RecordedCall:
    op = str(entry["profiling_name"]).rpartition(":")[2]
    compared = [op]
    for name, own in (("input", _OWN_INPUTS), ("output", _OWN_OUTPUTS)):
        if not own.search(op):
            compared += [_elements(entry.get(f"{name}_sizes")), _dtypes(entry, name)]
    return RecordedCall(
        op=op,
        sizes=str(entry["input_sizes"]),
        dtypes=_dtypes(entry, "input"),
        compared=tuple(compared),
        finished=_finished(entry),
        at=_called_at(entry),
    )


def _elements(sizes: Sequence[Sequence[int]] | None) -> str:
    """Of each tensor: ranks may see the same elements in another shape."""
    return ",".join(str(math.prod(size)) for size in sizes or ())


def _dtypes(entry: Mapping[str, Any], name: str) -> str:
    return ",".join(map(str, entry.get(f"{name}_dtypes") or ()))


def _messages(
    entries: Sequence[Mapping[str, Any]], members: Mapping[str, tuple[int, ...]]
) -> Iterator[RecordedMessage]:
    """The sends and receives. Of a batch, only the entry that ends it knows whether it is done."""
    batches = {
        (str(entry["process_group"][0]), entry.get("p2p_seq_id")): _finished(entry)
        for entry in entries
        if entry["is_p2p"] and str(entry["profiling_name"]).endswith(":coalesced")
    }
    for number, entry in enumerate(entries):
        matched = _MESSAGE.search(str(entry["profiling_name"])) if entry["is_p2p"] else None
        group = str(entry["process_group"][0])
        ends = matched and _ends(matched, members.get(group) or (), entry["process_group"])
        if matched is None or ends is None:
            continue
        place = (group, entry.get("p2p_seq_id"))
        name = "input" if matched["kind"] == "send" else "output"
        sizes = entry.get(f"{name}_sizes") or ()
        yield RecordedMessage(
            kind=matched["kind"],
            source=ends[0],
            target=ends[1],
            elements=sum(math.prod(size) for size in sizes),
            sizes=str(sizes),
            dtypes=_dtypes(entry, name),
            finished=batches.get(place, False) or _finished(entry),
            batch=-1 - int(place[1] or 0) if place in batches else number,
            at=_called_at(entry),
        )


def _ends(matched: re.Match[str], members: Sequence[int], group: Sequence[Any]) -> tuple[int, int] | None:
    """(source, target) as ranks of the world; None where a subgroup does not tell its ranks."""
    own, peer = int(matched["own"]), int(matched["peer"])
    if max(own, peer) < len(members):
        own, peer = members[own], members[peer]
    elif str(group[0]) != "0":
        return None
    return (own, peer) if matched["kind"] == "send" else (peer, own)


def _called_at(entry: Mapping[str, Any]) -> str:
    """The innermost frame that is not torch's own."""
    own = (frame for frame in entry.get("frames") or () if "/torch/" not in str(frame.get("filename")))
    where = (f"{frame.get('filename')}:{frame.get('line')} in {frame.get('name')}" for frame in own)
    return next((f"; called at {place}" for place in where), "")
