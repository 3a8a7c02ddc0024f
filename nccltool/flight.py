"""LOOK at torch's flight recorder: JSON dumps of the ranks become events, as if torch had said it in a log.

Ranks that made different calls at the same place of a process group, and ranks that did not call a collective in
which others wait. What is older than the oldest entry that all ranks still have is not compared, nor are calls
from point to point and the sizes of operations whose ranks may send different amounts.
"""

import pickle
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from nccltool.errors import BadInput
from nccltool.logs.base import LONGEST_TEXT, Event

_HEAD = 1 << 16
"""Bytes of a file in which the first entry of a dump must stand."""
_RANK = re.compile(r"(\d+)(?:\.json)?$")
_NOT_AS_EXPECTED = (KeyError, TypeError, ValueError, AttributeError, IndexError, EOFError)
_ALIKE = re.compile(r"(?:all_?reduce|broadcast|reduce|barrier)$", re.IGNORECASE)
"""Operations whose ranks must agree in their sizes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One collective, as one rank made it."""

    op: str
    sizes: str
    dtypes: str
    finished: bool
    stack: str

    @property
    def told(self) -> str:
        """For people."""
        return " ".join(part for part in (self.op, self.sizes, self.dtypes) if part)

    @property
    def compared(self) -> tuple[str, ...]:
        """What must be the same on all ranks."""
        alike = _ALIKE.search(self.op)
        return (self.op, self.sizes, self.dtypes) if alike else (self.op,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dump:
    """What one rank recorded: process group -> sequence number -> call."""

    file: str
    rank: int
    groups: Mapping[str, Mapping[int, Call]]


def dump(file: str, trust_pickle: bool = False) -> Dump | None:
    """A dump of the flight recorder; None when the file is something else, or does not tell its rank.

    Raises BadInput for a pickled one that is not to be trusted.
    """
    named = _RANK.search(file)
    if file == "-" or named is None:
        return None
    try:
        with Path(file).open("rb") as opened:
            head = opened.read(_HEAD)
            if not head.lstrip().startswith((b"{", b"\x80")) or b"entries" not in head:
                return None
            document = _document(file, head + opened.read(), trust_pickle)
        groups = _groups(document["entries"])
    except (OSError, msgspec.DecodeError, pickle.UnpicklingError, *_NOT_AS_EXPECTED):
        return None  # it is read as a log, and who cannot read it says so there
    return Dump(file=file, rank=int(named[1]), groups=groups) if "pg_config" in document else None


def _document(file: str, data: bytes, trust_pickle: bool) -> Any:
    if not data.startswith(b"\x80"):
        return msgspec.json.decode(data)
    if not trust_pickle:
        raise BadInput(
            f"{file} is a pickled dump of the flight recorder, and a pickle can hold programs",
            "use --trust-pickle if nobody else can have written it, or dump JSON",
        )
    return _Plain(BytesIO(data)).load()


class _Plain(pickle.Unpickler):
    """Numbers, texts, lists and dictionaries, which is all that a dump consists of: no class, no function."""

    def find_class(self, module: str, name: str) -> Any:
        """Nothing is looked up."""
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a dump")


def _groups(entries: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, Call]]:
    groups: dict[str, dict[int, Call]] = {}
    for entry in entries:
        if not entry["is_p2p"]:
            call = Call(
                op=str(entry["profiling_name"]).rpartition(":")[2],
                sizes=str(entry["input_sizes"]),
                dtypes=",".join(map(str, entry.get("input_dtypes") or ())),
                finished=bool(entry.get("retired")) or entry.get("state") == "completed",
                stack=_stack(entry.get("frames") or ()),
            )
            groups.setdefault(str(entry["process_group"][0]), {})[int(entry["collective_seq_id"])] = call
    return groups


def _stack(frames: Sequence[Mapping[str, Any]]) -> str:
    """The innermost frame that is not torch's own."""
    own = (frame for frame in frames if "/torch/" not in str(frame.get("filename")))
    return next((f"{frame.get('filename')}:{frame.get('line')} in {frame.get('name')}" for frame in own), "")


def events(dumps: Sequence[Dump]) -> Iterator[Event]:
    """What the dumps of a job's ranks show."""
    for group in sorted(set(chain.from_iterable(one.groups for one in dumps))):
        members = {one.rank: one for one in dumps if one.groups.get(group)}
        if len(members) > 1:
            yield from _differing(group, members)
            yield from _behind(group, members)


def _differing(group: str, members: Mapping[int, Dump]) -> Iterator[Event]:
    """The first place at which calls differ: what follows it differs for that reason."""
    since = max(min(one.groups[group]) for one in members.values())
    places = sorted({place for one in members.values() for place in one.groups[group] if place >= since})
    for place in places:
        calls = {rank: one.groups[group][place] for rank, one in members.items() if place in one.groups[group]}
        kinds = Counter(call.compared for call in calls.values()).most_common()
        if len(kinds) > 1:
            odd = min(rank for rank, call in calls.items() if call.compared == kinds[-1][0])
            other = min(rank for rank, call in calls.items() if call.compared == kinds[0][0])
            text = (
                f"Flight recorder: rank {odd} is in {calls[odd].told}, rank {other} in {calls[other].told}:"
                f" collective #{place} of process group {group}{_at(calls[odd])}"
            )
            fields = {"first": str(odd), "second": str(other), "sequence": str(place)}
            yield _event("torch.fingerprint", members[odd], text, fields)
            return


def _behind(group: str, members: Mapping[int, Dump]) -> Iterator[Event]:
    """Ranks that have not begun a collective in which others wait."""
    last = {rank: max(one.groups[group]) for rank, one in members.items()}
    least = min(last.values())
    late = sorted(rank for rank, number in last.items() if number == least)
    waiting = {
        rank: call
        for rank, one in members.items()
        if (call := one.groups[group].get(least + 1)) is not None and not call.finished
    }
    if waiting:
        first = min(waiting)
        ranks = ", ".join(map(str, late))
        others = ", ".join(map(str, sorted(waiting)))
        text = (
            f"Flight recorder: ranks [{ranks}] have not called collective #{least + 1} of process group {group},"
            f" {waiting[first].told}, for which ranks [{others}] wait{_at(waiting[first])}"
        )
        fields = {"ranks": ranks, "done": str(least), "next": str(least + 1)}
        yield _event("torch.behind", members[late[0]], text, fields)


def _at(call: Call) -> str:
    return f"; called at {call.stack}" if call.stack else ""


def _event(kind: str, of: Dump, text: str, fields: Mapping[str, str]) -> Event:
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)[:LONGEST_TEXT]
    return Event(kind=kind, role="failure", text=clean, file=of.file, line=1, rank=of.rank, fields=fields)
