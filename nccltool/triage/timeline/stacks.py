"""Where processes stood when somebody took their stacks: who waits in which collective, and who is elsewhere."""

import re
from collections.abc import Iterable, Mapping
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


def stacks_of(frames: Iterable[LogEvent], ranks: Mapping[str, int], size: int | None) -> tuple[ProcessStack, ...]:
    """The stacks out of their frames. `ranks`: of processes that the log tells; `size`: of the job."""
    stacks: dict[tuple[str, str], list[LogEvent]] = {}
    for frame in frames:
        stacks.setdefault((frame.file, frame.get("stack")), []).append(frame)
    own_ranks = {**_in_order(stacks.values(), size), **ranks}
    return tuple(_stack(own, own_ranks) for own in stacks.values())


def _in_order(stacks: Iterable[list[LogEvent]], size: int | None) -> dict[str, int]:
    """The ranks of processes with consecutive numbers: a launcher starts them in that order."""
    processes = sorted({int(frames[0].get("process") or 0) for frames in stacks})
    together = len(processes) > 1 and processes == list(range(processes[0], processes[0] + len(processes)))
    if not together or not processes[0] or size not in (None, len(processes)):
        return {}
    return {str(process): rank for rank, process in enumerate(processes)}


def _stack(frames: list[LogEvent], ranks: Mapping[str, int]) -> ProcessStack:
    said = [frame.text for frame in frames]
    found = next((match for text in said if (match := _OPERATIONS.search(text))), None)
    operation = found["op"].lower().replace("_", "") if found else ""
    waits = bool(operation) or any(map(_WAITS.search, said))
    named = next((frame.rank for frame in frames if frame.rank is not None), None)
    rank = ranks.get(frames[0].get("process")) if named is None else named
    return ProcessStack(rank, operation, waits, frames[0])
