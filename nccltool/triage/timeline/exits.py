"""How a rank timed out, and how a process ended, from the parts of a line."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nccltool.triage.logs.base import LogEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveTimeout:
    """A collective that a rank gave up waiting for."""

    rank: int | None
    group: str
    sequence: int | None
    op: str
    size: str
    event: LogEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessExit:
    """How a process ended."""

    rank: int | None
    code: int | None
    signal: int | None
    first: bool
    event: LogEvent
    local: int | None = None
    """The number of the process on its host, where the rank is not said."""


def timeout_of(event: LogEvent) -> CollectiveTimeout:
    """The collective that a rank gave up waiting for."""
    size = event.get("in") or event.get("shape")
    return CollectiveTimeout(
        rank=event.rank,
        group=event.get("guid") or event.get("pg"),
        sequence=_number(event, "sequence"),
        op=event.get("op"),
        size=f"{size}/{event.get('out')}" if size else "",
        event=event,
    )


def timeouts_of(events: Iterable[LogEvent]) -> tuple[CollectiveTimeout, ...]:
    """The timeouts of ranks. A line without a number in the sequence says again what another one says."""
    every = [timeout_of(event) for event in events]
    told = {timeout.rank for timeout in every if timeout.sequence is not None}
    return tuple(timeout for timeout in every if timeout.sequence is not None or timeout.rank not in told)


_NAMED = {"SIGKILL": 9, "SIGTERM": 15, "SIGABRT": 6, "SIGSEGV": 11, "SIGBUS": 7, "SIGINT": 2}
_TOLD = {"Killed": 9, "Terminated": 15, "Segmentation fault": 11, "Aborted": 6, "Bus error": 7, "Out Of Memory": 9}


def exit_of(event: LogEvent) -> ProcessExit:
    how = event.get("how")
    said = re.search(r"exit code (\d+)", how)
    code = int(said[1]) if said else _number(event, "code", digits=5)
    told = next((number for words, number in _TOLD.items() if how.startswith(words)), None)
    numbers = (_number(event, "number"), _number(event, "signal"), _NAMED.get(event.get("signal")), told)
    signal = next((number for number in numbers if number is not None), None)
    if code is not None and (code < 0 or 128 < code < 160):
        signal = -code if code < 0 else code - 128
    return ProcessExit(
        rank=event.rank if event.rank is not None else _number(event, "tasks"),
        code=code,
        signal=signal,
        first=event.get("root") == "yes",
        event=event,
        local=_number(event, "local"),
    )


def _number(event: LogEvent, name: str, digits: int = 18) -> int | None:
    text = event.get(name)
    return int(text) if re.fullmatch(rf"-?\d{{1,{digits}}}", text) else None
