"""LOOK at text: lines of NCCL, torch, launchers and kernels become typed events. One dialect a file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias, cast

from nccltool.logs import (
    channels,
    fabrics,
    gloo,
    kernel,
    lines,
    nccl,
    nccl_tests,
    nccl_warnings,
    prefilter,
    prefixes,
    schedulers,
    shell,
    store,
    torch,
    torchrun,
    tracebacks,
)
from nccltool.logs.base import Event, Line, Pattern, literals

PATTERNS: tuple[Pattern, ...] = tuple(
    item
    for dialect in (
        nccl,
        nccl_warnings,
        torch,
        torchrun,
        gloo,
        store,
        schedulers,
        kernel,
        fabrics,
        nccl_tests,
        shell,
        tracebacks,
    )
    for item in dialect.PATTERNS
)
"""All patterns; a line that contains none of their literals says nothing, unless a traceback is open."""

_Read: TypeAlias = Callable[[Line], Iterator[Event]]
_prefilter = prefilter.Prefilter(PATTERNS)
_STATELESS = tuple(
    (frozenset(item.literal for item in dialect.PATTERNS), cast(_Read, dialect.events))
    for dialect in (torch, gloo, store, schedulers, kernel, fabrics, nccl_tests, shell)
)
"""Dialects that look at one line at a time, and what a line must contain for them to be asked. NCCL's writers can
share a line; torchrun's tables and tracebacks have several lines."""
_REPEATS = 2000
"""Events of one kind that are handed on from one file: of the rest only the number counts."""


class Reader:
    """Reads any number of logs, one after the other; holds no lines."""

    def __init__(self) -> None:
        self.lines_read = 0

    def read(self, file: str, chunks: Iterable[bytes]) -> Iterator[Event]:
        """The events of one log, in the order of its lines."""
        log = _Log(file)
        first = 1
        for block in lines.blocks(chunks):
            for number, some, alike in log.channels.without(block, first):
                yield from log.events(some, number, alike)
            count = block.count(b"\n") + (not block.endswith(b"\n"))
            first += count
            self.lines_read += count
        for event, more in log.channels.counted():
            yield replace(event, repeats=more)


class _Log:
    """One log that is being read."""

    def __init__(self, file: str) -> None:
        self.channels = channels.Channels()
        self._file = file
        self._ends = tracebacks.Tracebacks()
        self._rows = torchrun.reader()
        self._counts: Counter[str] = Counter()

    def events(self, some: bytes, first: int, alike: channels.Alike | None) -> Iterator[Event]:
        """The events of whole lines, of which the first has this number."""
        for number, raw in self._worth_reading(some, first):
            for text in lines.texts(raw):
                if not self._ends.waits(number) and not literals(text):
                    continue
                for event in self._of(number, text):
                    if alike and event.kind == "nccl.channel":
                        alike.event = event
                    self._counts[event.kind] += 1
                    if self._counts[event.kind] <= _REPEATS:
                        if alike and event.kind == "nccl.channel":
                            alike.handed += 1
                        yield event

    def _of(self, number: int, text: str) -> list[Event]:
        line = nccl.attributed(prefixes.line(self._file, number, text))
        there = literals(line.text)
        events = list(nccl.events(line))
        for literals_of, read in _STATELESS:
            if not literals_of.isdisjoint(there):
                events += read(line)
        return _settled([*events, *self._rows(line), *self._ends.events(line)])

    def _worth_reading(self, some: bytes, number: int) -> Iterator[tuple[int, bytes]]:
        """The lines that contain something; while a traceback is open, each line."""
        after = _prefilter.searcher(some)
        start = 0
        while start < len(some):
            place = start if self._ends.waits(number) else after(start)
            if place < 0:
                return
            begin = max(start, some.rfind(b"\n", start, place) + 1)
            number += some.count(b"\n", start, begin)
            end = some.find(b"\n", place)
            end = len(some) if end < 0 else end
            yield number, some[begin:end]
            number, start = number + 1, end + 1


def _settled(events: list[Event]) -> list[Event]:
    """The events of one line, where a text that is known precisely silences the general ones.

    An exception whose text says what failed is only its echo; a warning is not unknown when another dialect
    knows it.
    """
    if len(events) < 2:
        return events
    if any(event.role == "failure" and event.kind not in ("app.exception", "nccl.warning") for event in events):
        events = [event for event in events if event.kind != "nccl.warning"]
        return [_as_echo(event) if event.kind == "app.exception" else event for event in events]
    return events


def _as_echo(event: Event) -> Event:
    return replace(event, kind="app.echo", role="echo")
