"""The limit of open files is reached.

## Meaning
A process may open no more files or sockets (RLIMIT_NOFILE). NCCL over sockets needs channels x sockets x peers
of them; the store needs one for each rank; DataLoader workers share tensors by file descriptors.

## Impact
The rank that reaches the limit fails to connect or to accept; the others see closed connections.

## Verify
    ulimit -n                                  # the way the job starts; expected: 65536 or more
    ls /proc/PID/fd | wc -l                    # expected: far below it
    env | grep -E 'NSOCKS|NTHREADS'            # expected: not set, unless the cloud asks for it

## Causes
A limit of 1024 in a batch step or container; NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS far above the
default; all to all among many ranks; a leak of descriptors; torch's file_descriptor sharing strategy.

## Fix
Raise the limit (--ulimit nofile=1048576, LimitNOFILE= in slurmd.service) or lower NCCL_NSOCKS_PERTHREAD. Blast
radius: the variable concerns this job; the unit concerns new jobs on the host.

## Escalate
To the platform team for the default of the host.
"""

import re

from nccltool.triage.causes.base import HINT, SAYS, Clue, Clues, Given, Offender, Timeline

DECIDES = "`ulimit -n` as the job sees it, and the number of entries in /proc/PID/fd"
EXPLAINS = frozenset({"app-error", "net-unreachable"})

SIGNS = {"limits.files": (SAYS, "a process could open no more files")}
_PID = re.compile(r"\b(\d{2,7}):\d{2,7}\b ")
_SOCKETS = "NCCL_NSOCKS_PERTHREAD"


def clues(timeline: Timeline) -> Given:
    event = timeline.first(
        "shell.files", where=lambda e: e.get("limit").isdecimal() and int(e.get("limit")) <= 1024
    )
    if event and timeline.failed:
        yield Clue(HINT, "the limit of open files is small", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The variable that multiplies sockets, else the rank, else the process."""
    if timeline.variable(_SOCKETS):
        return Offender("variable", _SOCKETS)
    for event in timeline.of("limits.files"):
        if event.rank is not None:
            return Offender("rank", str(event.rank))
        if event.host is None and event.pid is None and (pid := _PID.search(event.text)):
            return Offender("process", pid[1])
    return clues.host_or_rank()
