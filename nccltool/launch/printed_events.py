"""The event stream as a command prints it (--events), and as it is read back out of the logs of many.

A line is an event with a stamp: the run id of the command that printed it, its part of the run (each node, or each
rank of a launcher's job, is one), a number without gaps, the time, and a checksum of all that. So what is missing
or was changed on the way is seen, whatever a log was cut by, prefixed with or mixed into. The first event says
what was asked for, the last one what was found; both are long, and come in pieces.
"""

import json
import re
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from nccltool.core.errors import BadInput, RunDirError
from nccltool.core.findings import Finding
from nccltool.core.run_directory import RunDir
from nccltool.launch import events
from nccltool.launch.job import Job, kept

_PIECE = 1900
"""Characters: twice as many bytes when each is a quotation mark, and then still less than events.MAX_LINE."""
_NOT_FOR_LOGS = ("env", "large_files", "scratch", "secret")
"""Of a job: what other hosts are given of our environment, folders of ours, and what opens the bus of the run."""
_STAMPED = re.compile(
    rb'((\{"event":.*),"run":"([\w-]{1,64})","part":(\d{1,7}),"n":(\d{1,9}),"t":(\d{1,11}\.\d{3})),"crc":(\d{1,10})\}'
)
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """What a command knows when it begins."""

    job: Job
    leads: bool
    """Rank 0 is among its ranks: it judges and shows."""
    part: int
    parts: int | None
    """How many commands make up the run; None = only that of rank 0 knows."""
    ranks_seen: int
    """Ranks whose events reach it."""
    command: tuple[str, ...]
    started: str
    nccltool: str
    torch: str | None
    """As installed beside the command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamEnd:
    """What a command knows at its end and did not hear from its ranks."""

    findings: tuple[Finding, ...]
    interrupted: bool
    nodes: int | None
    ranks_seen: int
    """Both as they became known on the way, where remote nodes had to meet first."""
    duration_s: float | None = None


class Begin(events.Event, frozen=True, tag="begin"):
    """A piece of the text of a Begun."""

    text: str
    more: bool


class End(events.Event, frozen=True, tag="end"):
    """A piece of the text of an Ended."""

    text: str
    more: bool


class Teller:
    """Prints one command's part of the stream."""

    def __init__(self, put: Callable[[str], None], run_id: str, part: int) -> None:
        self._put, self._run_id, self._part = put, run_id, part
        self._number = 0

    def begin(self, begun: Begun) -> None:
        """Print the first event."""
        self._pieces(Begin, begun)

    def tell(self, event: bytes) -> None:
        stamp = f'"run":"{self._run_id}","part":{self._part},"n":{self._number},"t":{time.time():.3f}'
        body = event.rstrip()[:-1] + b"," + stamp.encode()
        line = events.RECORD_SEPARATOR + body + b',"crc":%d}\n' % zlib.crc32(body)
        self._number += 1
        try:
            self._put(line.decode())
        except (BadInput, BrokenPipeError) as error:
            raise RunDirError(
                "the event stream cannot be written to standard output",
                "omit --events, or keep its reader running",
            ) from error

    def end(self, ended: StreamEnd) -> None:
        self._pieces(End, ended)

    def _pieces(self, kind: type[Begin] | type[End], document: Begun | StreamEnd) -> None:
        plain = msgspec.to_builtins(document)
        for key in _NOT_FOR_LOGS:
            plain.get("job", {}).pop(key, None)
        text = json.dumps(plain, separators=(",", ":"))  # ASCII, so that its length in bytes is known
        for start in range(0, len(text), _PIECE):
            piece = kind(text=text[start : start + _PIECE], more=start + _PIECE < len(text))
            self.tell(events.encode(piece)[1:])


class ToldRunDir(RunDir):
    """A run directory whose events are printed too: each by the command whose own ranks it is about."""

    def __init__(self, base: Path, begun: Begun, teller: Teller) -> None:
        super().__init__(base, begun.job.run_id, kept(begun.job))
        self._begun, self._teller = begun, teller
        self._ours: set[int] = set() if begun.job.node_ranks else {begun.part}

    def event(self, line: bytes) -> None:
        super().event(line)
        if self._is_ours(line):
            self._teller.tell(line)

    def _is_ours(self, line: bytes) -> bool:
        if not self._begun.leads or self._begun.parts == 1:
            return True  # nothing of others comes here
        said, nodes = msgspec.json.decode(line), self._begun.job.node_ranks
        rank, node_rank = said.get("facts", said).get("rank"), said.get("node_rank")
        if rank is None:  # from rank 0, or a finding of anybody, or of an agent
            return node_rank is None or node_rank in nodes
        if node_rank in nodes:  # it was spawned there
            self._ours.add(rank)
        return rank in self._ours


class EventLine(NamedTuple):
    """A line of the stream; a tuple, because there are millions of them."""

    run_id: str
    part: int
    number: int
    time: float
    event: events.Event | None
    """None = of a kind that this release does not know."""
    text: bytes
    """The event without its stamp, as a line of JSON."""


class DamagedStream(Exception):
    """A line was one of the stream and has been cut or changed."""


def read(line: bytes, reader: events.EventReader) -> EventLine | None:
    """The event in a line of a log, wherever it stands in it; None for other text. Raises Damaged."""
    if b'{"event":"' not in line:
        return None
    if b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    start = line.rfind(events.RECORD_SEPARATOR)  # some viewers of logs leave it out
    found = _STAMPED.search(line, max(start, 0))
    if found is None:
        if start >= 0:
            raise DamagedStream
        return None
    body, plain, run_id, part, number, at, checksum = found.groups()
    if zlib.crc32(body) != int(checksum):
        raise DamagedStream
    event = reader.from_json(found[0])  # the line is whole, as the checksum says
    return EventLine(run_id.decode(), int(part), int(number), float(at), event, plain + b"}\n")
