"""The process reached the limit on open files.

## Meaning
The process cannot open more files or sockets (RLIMIT_NOFILE). NCCL over sockets needs channels x sockets x peers
descriptors; the store needs one per rank; DataLoader workers share tensors through file descriptors.

## Impact
The rank at the limit cannot open or accept connections; the other ranks see closed connections.

## Verify
    ulimit -n                                  # started the same way as the job; expected: 65536 or more
    ls /proc/PID/fd | wc -l                    # expected: far below the limit
    env | grep -E 'NSOCKS|NTHREADS'            # expected: not set, unless the cloud provider recommends it

## Causes
* The limit in the batch step or container is 1024.
* NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS is far above the default.
* The job runs all-to-all among many ranks.
* The program leaks file descriptors or uses torch's file_descriptor sharing strategy.

## Fix
Raise the limit (--ulimit nofile=1048576 or LimitNOFILE=1048576 in slurmd.service), or lower
NCCL_NSOCKS_PERTHREAD. Blast radius: the variable affects this job; the unit file affects new jobs on the host.

## Escalate
Ask the platform team to raise the default limit of the host.
"""

import re

from nccltool.core.text import whole
from nccltool.triage.causes.base import HINT, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline

DECIDES = "`ulimit -n` inside the job and `ls /proc/PID/fd | wc -l`"
EXPLAINS = frozenset({"app-error", "net-unreachable"})

SIGNS_OF_FAILURE = {"limits.shared": (TYPICAL, "a process could not open memory that it shares with another one")}
SIGNS = {"limits.files": (SAYS, "a process reached the limit on open files")}
_UNREAD = re.compile(r"(?i)could not load \S*/\S+\.(?:dat|co|hsaco|so)\b")
"""A file that a library has, and could not open."""
_PID = re.compile(r"(?<![\d:+.-])(\d{2,7}):\d{2,7} \[\d")
_SOCKETS = "NCCL_NSOCKS_PERTHREAD"


def clues(timeline: Timeline) -> Given:
    event = timeline.first(
        "shell.files", where=lambda e: (limit := whole(e.get("limit"))) is not None and limit <= 1024
    )
    if event and timeline.failed:
        unread = timeline.first("version.build", where=lambda e: _UNREAD.search(e.text))
        if unread:
            yield Clue(0.9, "a file of a library could not be loaded, and the limit on open files is low", unread)
        yield Clue(HINT, "the limit on open files is low", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The variable that multiplies sockets, else the rank, else the process."""
    if timeline.variable(_SOCKETS):
        return Offender("variable", _SOCKETS)
    for event in timeline.of("limits.files"):
        if event.rank is not None:
            return Offender("rank", str(event.rank))
        if event.host is None and event.pid is None and (pid := _PID.search(event.text)):
            return Offender("process", pid[1])
    failed = (event.pid for event in timeline.failures() if event.pid is not None)
    found = clues.host_or_rank() or next((Offender("process", str(pid)) for pid in failed), None)
    raised = timeline.part("process", "app.exception", "app.echo", name="child")
    return found or raised
