"""How far training is, as the end of the job's own logs tells: files that its processes write to."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Thread

from nccltool.attach.seen.job import Unread
from nccltool.attach.seen.sources import StepLine, StepLog
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.logs.reader import IncrementalLogReader

END_BYTES = 32 << 10
"""Of each log; taking apart 48 KiB of steps took 0.04 s."""
PULSE_BYTES = 8 << 10
"""Where only the newest steps are of interest."""
_MOST_LINES = 150
"""Of a log that is read again and again; as many as its end has at first."""
_MOST_FILES = 4
_MOST_DESCRIPTORS = 256
_DEADLINE_S = 2.0
"""For all logs of a host: they may be on a file system that hangs."""
_LOGS = (".log", ".out", ".err")
_STEPS = ("iters", "it", "steps", "step")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tail:
    """What was read of a log before, up to the end of a line."""

    inode: int
    offset: int
    lines: tuple[StepLine, ...]


@dataclass(slots=True)
class LogMemory:
    """For logs that are read again and again: only what is new is taken apart."""

    tails: dict[str, _Tail] = field(default_factory=dict)


def read(
    pids: Sequence[int], tree: Tree, end_bytes: int = END_BYTES, memory: LogMemory | None = None
) -> tuple[tuple[StepLog, ...], tuple[Unread, ...]]:
    """The logs of these processes that show steps, and those that could not be read."""
    if not tree.live:
        return (), ()
    found: list[StepLog | Unread] = []
    tails = {} if memory is None else memory.tails
    reader = Thread(target=lambda: found.extend(_logs(pids, tree, end_bytes, tails)), daemon=True)
    reader.start()
    reader.join(_DEADLINE_S)
    late = reader.is_alive()
    if late and memory is not None:  # the thread may still write to the one that it has
        memory.tails = {}
    logs = tuple(one for one in found if isinstance(one, StepLog))
    unread = tuple(one for one in found if isinstance(one, Unread))
    if late:
        unread += (
            Unread(what="the job's log", reason=f"its file system did not answer within {_DEADLINE_S:g} s"),
        )
    return logs, unread


def _logs(pids: Sequence[int], tree: Tree, end_bytes: int, tails: dict[str, _Tail]) -> Iterator[StepLog | Unread]:
    for name, path in list(_files(pids, tree).items())[:_MOST_FILES]:
        try:
            end = _end(path, end_bytes, tails.get(name))
        except OSError as error:
            yield Unread(what=f"log {name}", reason=str(error.strerror))
            continue
        whole, newline, rest = end.new.rpartition(b"\n")
        before = (*end.before, *lines(name, whole + newline))
        tails[name] = _Tail(inode=end.inode, offset=end.offset + len(whole + newline), lines=before[-_MOST_LINES:])
        if found := (*before, *lines(name, rest)):
            yield StepLog(file=name, changed_at_s=end.changed_at_s, lines=found)


def _files(pids: Sequence[int], tree: Tree) -> dict[str, str]:
    """File -> a path by which it can be opened: that of its descriptor, as the process may have another root."""
    found: dict[str, str] = {}
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        names = tree.names(folder)
        for name in () if isinstance(names, Unknown) else names[:_MOST_DESCRIPTORS]:
            file = or_none(tree.link(f"{folder}/{name}")) or ""
            if file.startswith("/") and (name in ("1", "2") or file.endswith(_LOGS)):
                found.setdefault(file, f"{folder}/{name}")
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _LogEnd:
    """Whole lines from `offset` on, but for the last one."""

    new: bytes = b""
    changed_at_s: float = 0.0
    inode: int = 0
    offset: int = 0
    before: tuple[StepLine, ...] = ()
    """Lines ahead of it, which were read earlier."""


def _end(path: str, end_bytes: int, tail: _Tail | None) -> _LogEnd:
    """The end of a file, and when it was written. A pipe or a terminal is not opened: that would take from its
    reader."""
    if not stat.S_ISREG(Path(path).stat().st_mode):
        return _LogEnd()
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        about = os.fstat(handle)
        start = max(0, about.st_size - end_bytes)
        is_known = tail is not None and tail.inode == about.st_ino and start <= tail.offset <= about.st_size
        if tail is not None and is_known:
            start = tail.offset
        new = os.pread(handle, end_bytes, start)
    finally:
        os.close(handle)
    if start and not is_known:  # not from the middle of a line on
        cut, newline, new = new.partition(b"\n")
        start += len(cut + newline)
    before = tail.lines if tail is not None and is_known else ()
    return _LogEnd(new=new, changed_at_s=about.st_mtime, inode=about.st_ino, offset=start, before=before)


def lines(name: str, end: bytes) -> Iterator[StepLine]:
    for event in IncrementalLogReader(name).read(end):
        if event.kind == "job.progress":
            yield StepLine(step=_number(event.get("step")), step_s=_step_s(event), at_s=_seconds(event.time))


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 13 else None


def _step_s(event: LogEvent) -> float | None:
    rate = _decimal(event.get("rate")) if event.get("of") in _STEPS else None
    if rate:
        return 1 / rate
    stated = _decimal(event.get("time"))
    return None if not stated else stated / 1000 if event.get("unit") == "ms" else stated


def _decimal(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _seconds(time: str | None) -> float | None:
    """Of MM-DD HH:MM:SS, with or without the year; without, that of a leap year."""
    try:
        whole = "" if time is None else time if time[4:5] == "-" else f"2000-{time}"
        return datetime.fromisoformat(whole).timestamp()
    except ValueError:
        return None
