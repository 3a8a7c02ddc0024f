"""Where processes stood when somebody took their stacks: who waits in which collective, and who is elsewhere."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nccltool.triage.logs.base import LogEvent

_OPERATIONS = re.compile(
    r"(?:\b|_|nccl)(?P<op>all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|new_group|batch_isend_irecv|gather|scatter|sync_(?:params|buffers|module_states))"
    r"(?:_\w+|[A-Z]\w*)?\b",
    re.IGNORECASE,
)
_WAITS = re.compile(
    r"(?i)synchronize|\bwait\b|cudaStream|cudaEvent|WorkNCCL|ProcessGroup|ncclGroupEnd|epoll|poll_wait|store.*get\b"
)
"""Frames of a process that waits for its GPU, or for others."""


@dataclass(frozen=True, slots=True)
class ProcessStack:
    """Where one process stood."""

    rank: int | None
    operation: str
    """The collective that it was in; "" = none that its frames name."""
    waits: bool
    """In a collective, or for its GPU or another process."""
    event: LogEvent
    """The innermost frame that is told."""


def stacks_of(frames: Iterable[LogEvent]) -> tuple[ProcessStack, ...]:
    """The stacks out of their frames."""
    stacks: dict[tuple[str, str], list[LogEvent]] = {}
    for frame in frames:
        stacks.setdefault((frame.file, frame.get("stack")), []).append(frame)
    return tuple(_stack(own) for own in stacks.values())


def _stack(frames: list[LogEvent]) -> ProcessStack:
    said = [frame.text for frame in frames]
    named = next((match for text in said if (match := _OPERATIONS.search(text))), None)
    operation = named["op"].lower().replace("_", "") if named else ""
    waits = bool(operation) or any(map(_WAITS.search, said))
    rank = next((frame.rank for frame in frames if frame.rank is not None), None)
    return ProcessStack(rank, operation, waits, frames[0])
