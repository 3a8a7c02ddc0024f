"""LOOK at text: lines of NCCL, torch, launchers and kernels become typed events. One dialect a file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from nccltool.logs import (
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
from nccltool.logs.base import Event, Line, Pattern

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

_matters = prefilter.matters(PATTERNS)
_REPEATS = 2000
"""Events of one kind that are handed on from one file: of the rest only the number counts."""


class Reader:
    """Reads any number of logs, one after the other; holds no lines."""

    def __init__(self) -> None:
        self.lines_read = 0
        self._stateless: tuple[Callable[[Line], Iterator[Event]], ...] = (
            nccl.events,
            torch.events,
            gloo.events,
            store.events,
            schedulers.events,
            kernel.events,
            fabrics.events,
            nccl_tests.events,
            shell.events,
        )

    def read(self, file: str, chunks: Iterable[bytes]) -> Iterator[Event]:
        """The events of one log, in the order of its lines."""
        ends = tracebacks.Tracebacks()
        readers = (*self._stateless, torchrun.reader(), ends.events)
        counts: Counter[str] = Counter()
        last = 0
        for number, text in lines.lines(chunks):
            self.lines_read += number - last
            last = number
            if not ends.waits and not _matters(text):
                continue
            line = nccl.attributed(prefixes.line(file, number, text))
            for event in _settled([event for read in readers for event in read(line)]):
                counts[event.kind] += 1
                if counts[event.kind] <= _REPEATS:
                    yield event


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
