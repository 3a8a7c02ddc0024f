"""The end of the logs that ranks write to, through triage: what failed there, if anything did."""

import time
from collections.abc import Sequence
from dataclasses import replace

from nccltool.attach.look import log_files
from nccltool.attach.seen.job import Unread
from nccltool.attach.seen.ranks import AgentFound, RankFound
from nccltool.attach.seen.sources import LogSeen
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree
from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder

_TAIL = 128 << 10
_MOST_FILES = 16
"""Of one host: usually all ranks have the same."""
_SECONDS = 5.0
_LEAST = 0.5
"""A cause that is less likely says nothing."""
_LONGEST = 300


def read(
    ranks: Sequence[RankFound], agents: Sequence[AgentFound], host: str, tree: Tree
) -> tuple[tuple[LogSeen, ...], tuple[Unread, ...]]:
    numbers = {rank.pid: rank.rank for rank in ranks}
    files = log_files.of([*(agent.pid for agent in agents), *numbers], tree)
    seen: list[LogSeen] = []
    unread: list[Unread] = []
    end = time.monotonic() + _SECONDS
    for path, pids in list(files.items())[:_MOST_FILES]:
        if time.monotonic() > end:
            break
        data = log_files.tail(pids[0], path, _TAIL, tree)
        if isinstance(data, Unknown):
            unread.append(Unread(what=f"log {path}", reason=data.reason, host=host, pid=pids[0]))
        elif (found := triaged(data, path, pids[0])) is not None:
            writers = [numbers[pid] for pid in pids if pid in numbers]
            rank = writers[0] if len(writers) == len(pids) == 1 else None
            seen.append(replace(found, rank=rank))
    return tuple(seen), tuple(unread)


def triaged(data: bytes, path: str, pid: int) -> LogSeen | None:
    """What failed in the end of a log; None when nothing did, or nothing is likely."""
    _, _, whole_lines = data.partition(b"\n") if len(data) >= _TAIL else (b"", b"", data)
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read(path, [whole_lines]))
    cause = judge(builder.timeline(reader.lines_read))
    if cause.root_cause == "none" or cause.confidence < _LEAST:
        return None
    text = cause.first_failure.text if cause.first_failure else ""
    return LogSeen(
        file=path, pid=pid, root_cause=cause.root_cause, confidence=cause.confidence, text=text[:_LONGEST]
    )
