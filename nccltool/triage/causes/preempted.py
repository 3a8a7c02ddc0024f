"""The scheduler or the user stopped the job.

## Meaning
The job was canceled, preempted, or evicted, or reached its time limit. The errors that ranks logged after that are
consequences.

## Impact
None on the cluster. Work since the last checkpoint is lost.

## Verify
    sacct -j JOB -o JobID,State,ExitCode,End,Timelimit     # expected: CANCELLED, TIMEOUT, or PREEMPTED
    kubectl get events --field-selector involvedObject.name=POD    # expected: Killing, Preempted, or Evicted
    grep -hE 'CANCELLED|SIGTERM|signal: 15' LOG | head -3          # expected: before the first error

## Causes
* The job reached its time limit, or a job with higher priority preempted it.
* The cloud provider reclaimed a spot instance.
* Maintenance began, or the job was scaled down.
* Someone ran scancel or pressed Ctrl-C.

## Fix
Restart with a longer time limit or write a checkpoint when a signal announces the end (Slurm:
--signal=B:USR1@300). Blast radius: none.

## Escalate
If nobody stopped the job on purpose, find the sender of the signal in the scheduler's log.
"""

import re

from nccltool.triage.causes.base import FITS, SAYS, Clue, Clues, Given, LogEvent, Offender, Timeline, signs

DECIDES = "the scheduler's record: who stopped the job and when"
EXPLAINS = frozenset({"peer-exited", "straggler-timeout", "other", "app-error", "out-of-memory", "nccl-bug"})

_SIGNS = {
    "job.preempted": (0.95, "the job was preempted or evicted"),
    "job.time-limit": (0.95, "the time limit was reached"),
    "job.cancelled": (SAYS, "the scheduler canceled the job"),
    "job.sigterm": (0.75, "the job received SIGTERM"),
    "job.sigusr": (0.6, "the job received SIGUSR1, the warning before its end"),
    "job.interrupted": (FITS, "a user pressed Ctrl-C"),
    "job.terminated": (0.5, "a process was terminated"),
}
_PATIENCE = ("job.time-limit", "job.interrupted")
"""Ends that also a job meets that stands still: somebody gives up, or nobody does."""
_BY_HAND = re.compile(r"SIGINT|signal:? (?:SIGINT|2)\b|Signals\.SIGINT")
_ALSO = {
    *("torchrun.sigterm", "torchrun.failed", "torchrun.exit"),
    *("store.closed", "app.echo", "job.exit", "job.actor-died"),
}
_OF_MEMORY = re.compile(r"(?i)low on resource: memory|memory ?pressure")
_ENDED = re.compile(r"[Pp]rocess (\d+) got signal")
_AT_ONCE = 3
"""Lines: of several processes the one that ends first may print before the one that tells why."""


def clues(timeline: Timeline) -> Given:
    """The end that a user or the scheduler gave the job, if nothing failed before it."""
    ended = timeline.first(*_SIGNS)
    if not timeline.failed or not ended or timeline.has("job.node-failed"):
        return  # the scheduler ends a job whose host it lost
    earlier = timeline.hung or _earlier(timeline, ended)
    for clue in signs(timeline, _SIGNS):
        kind = clue.event.kind if clue.event else ""
        decisive = kind in ("job.preempted", "job.time-limit")
        by_hand = kind in _PATIENCE or (kind == "job.sigterm" and clue.event and _BY_HAND.search(clue.event.text))
        if by_hand and not timeline.steps_before:
            yield Clue(0.25, f"{clue.why}, but the job had made no progress", clue.event)
            continue
        if clue.event and _OF_MEMORY.search(clue.event.text):
            continue  # the host had no memory left
        if earlier is None or (decisive and earlier.role == "echo"):
            yield clue
        else:
            yield Clue(0.15, f"{clue.why}, after a failure", clue.event)


def _earlier(timeline: Timeline, ended: LogEvent) -> LogEvent | None:
    """A failure before the end."""
    for event in timeline.troubles():
        own = event.kind in _SIGNS or event.kind in _ALSO
        near = event.file == ended.file and abs(event.line - ended.line) <= _AT_ONCE and event.role == "echo"
        if not own and not near and timeline.before(event, ended):
            return event
    return None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The host that the scheduler names; else the process that was ended, as its agent names it."""
    if found := timeline.host_named("job.preempted", "job.cancelled", "job.time-limit", "job.sigterm"):
        return found
    ended = (_ENDED.search(event.text) for event in timeline.of("job.sigterm"))
    return next((Offender("process", match[1]) for match in ended if match and match[1] != "1"), None)
