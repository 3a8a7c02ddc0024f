"""/dev/shm is too small.

## Meaning
Ranks on one host exchange data through files in /dev/shm, and so do torch's DataLoader workers. /dev/shm is full.

## Impact
Ranks on this host fail in init or when data loading starts. A write to a full /dev/shm can also kill a process
with SIGBUS.

## Verify
    df -h /dev/shm                             # in the container; expected: several GiB or half of the memory
    ls -lS /dev/shm | head                     # expected: no files left by dead jobs
    dmesg -T | grep -i 'bus error'             # expected: nothing

## Causes
* The container has Docker's default of 64 MiB.
* The pod has no memory-backed volume at /dev/shm.
* A killed job left files behind.

## Fix
Docker: add --shm-size=16g or --ipc=host. Kubernetes: mount an emptyDir with medium: Memory at /dev/shm. Blast
radius: the container must be restarted. If files are left over, delete only /dev/shm/nccl-* of dead processes.

## Escalate
Contact the owner of the pod template.
"""

import re

from nccltool.triage.causes.base import FITS, SAYS, Clue, Clues, Given, Offender, Timeline

DECIDES = "`df -h /dev/shm` inside the container"
EXPLAINS = frozenset({"app-error", "nccl-bug", "preempted"})

SOURCES = ("transport/shm", "misc/shmutils", "include/shm", r"mm_(?:posix|sysv|md|iface|ep|seg)\w*\.c")
SIGNS = {
    "shm.full": (SAYS, "/dev/shm is full"),
    "shm.dataloader": (SAYS, "a DataLoader worker ran out of shared memory"),
    "shm.segment": (0.8, "a shared memory segment could not be created"),
    "shm.sigbus": (0.7, "a process died from a bus error"),
}
_SIGBUS = 7
_SEGMENT = re.compile(r"(?:creating|attaching to) shared memory segment (/dev/shm/[\w.-]*\w)")
_WORKER = re.compile(r"[Ww]orker \(pid[( =]*(\d+)")
_FULL = 98
"""Percent."""


def clues(timeline: Timeline) -> Given:
    if killed := timeline.killed_by(_SIGBUS):
        yield Clue(0.75, "a rank was killed by SIGBUS", killed[0].event)
    if timeline.failed and (
        ended := timeline.first("job.container-exit", where=lambda e: e.get("code") == str(128 + _SIGBUS))
    ):
        yield Clue(0.75, "a container was killed by SIGBUS", ended)
    full = timeline.first("app.exception", where=lambda e: "No space left on device" in e.text)
    if full and timeline.has("shm.resized"):
        yield Clue(0.85, "a shared memory segment could not be extended to the requested size", full)
    if event := timeline.first("shell.shm", where=lambda e: int(e.get("full")) >= _FULL and timeline.failed):
        yield Clue(0.8, f"/dev/shm is {event.get('full')} % full", event)
    elif event := timeline.first(
        "shell.shm", where=lambda e: e.get("size") in ("64M", "65536") and timeline.failed
    ):
        yield Clue(FITS, "/dev/shm has Docker's default size", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """/dev/shm where it is full, the segment in it that could not be made, else the host."""
    failures = timeline.of("shm.full", "shm.dataloader", "shm.segment", "shm.sigbus", "shell.shm", "shell.command")
    if any("/dev/shm" in event.text for event in failures):
        named = next(filter(None, (_SEGMENT.search(event.text) for event in failures)), None)
        is_full = any("o space left on device" in event.text for event in failures)
        return Offender("file", named[1] if named and not is_full else "/dev/shm")
    if worker := next(filter(None, (_WORKER.search(event.text) for event in failures)), None):
        return Offender("process", worker[1])
    return clues.host_or_rank() or clues.process()
