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
from dataclasses import replace

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
    "job.deleted": (0.7, "a user deleted the job or one of its pods"),
    "job.terminated": (0.5, "a process was terminated"),
}
_PATIENCE = ("job.time-limit", "job.interrupted", "job.deleted")
"""Ends that also a job meets that stands still: somebody gives up, or nobody does."""
_BEGUN = (
    *("nccl.version", "nccl.bootstrap", "nccl.init-start", "nccl.rings", "nccl.channel"),
    *("bench.begin", "bench.header"),
)
"""What a job prints before its first step: a log that begins with the end does not show that it stood still."""
_BY_HAND = re.compile(r"SIGINT|signal:? (?:SIGINT|2)\b|Signals\.SIGINT|[Rr]eceived 2 death signal")
_HUNG_UP = re.compile(r"SIGHUP|signal:? 1\b|[Rr]eceived 1 death signal")
_ALSO = {
    *("torchrun.sigterm", "torchrun.failed", "torchrun.exit"),
    *("store.closed", "app.echo", "job.exit", "job.actor-died", "job.node-failed"),
}
_OF_MEMORY = re.compile(r"(?i)low on resource: memory|memory ?pressure")
_BY_PROVIDER = re.compile(r"instances\.preempted|instance/preempted\W{1,5}TRUE|SpotInstanceTermination")
"""Words of the provider's records. They come late: first, the other hosts lose the one that was taken."""
_ENDED = re.compile(r"[Pp]rocess (\d+) got signal(?!:? (?:2|SIGINT)\b)")
"""Not by Ctrl-C: that goes to all processes of a terminal, and its agent only tells of it."""
_TAKEN = (
    re.compile(r"(?i)\bnode(?: IP:|/) ?(?P<name>[a-z\d][\w.-]*\w)"),
    re.compile(r"\b(?P<name>i-[0-9a-f]{8,17})\b"),
    re.compile(
        r"(?i)\b(?:evict|preempt|reclaim)(?:ing|t?ed)? (?:pod|task) <?(?:[\w-]+/)?(?P<name>[a-z][\w.-]*\w)"
    ),
    re.compile(r"(?i)\b(?:removing|draining|deleting|cordon\w*) node:? (?P<name>[a-z][\w.-]*\w)"),
    re.compile(r"\bpods?/(?P<name>[a-z][\w.-]*\w)"),
    re.compile(r"\bon (?P<name>[a-z][\w.-]*\d[\w.-]*)"),
    re.compile(r"(?:^|[\d:]Z ?)(?P<name>[a-z][\w.-]*-[\w.-]*\d[\w.-]*) "),
)
"""How lines of clouds and schedulers name the host that they take, the plainest first."""
_JOB = re.compile(r"\b[Jj]ob (\w*\d\w*) (?:was )?preempted")
_AT_ONCE = 3
"""Lines: of several processes the one that ends first may print before the one that tells why."""


def clues(timeline: Timeline) -> Given:
    """The end that a user or the scheduler gave the job, if nothing failed before it."""
    if timeline.failed and (killed := _killed_by_hand(timeline)):
        yield Clue(SAYS, "a user killed a process of the job", killed)
    ended = timeline.first(*_SIGNS)
    lost = timeline.has("job.node-failed") and not timeline.has("job.preempted")
    if not timeline.failed or not ended or lost:
        return  # the scheduler ends a job whose host it lost
    if taken := timeline.first("job.preempted", where=lambda e: _BY_PROVIDER.search(e.text)):
        yield Clue(0.95, "the cloud provider reclaimed a host", taken)
    earlier = timeline.hung or _earlier(timeline, ended)
    for clue in map(_by_its_signal, signs(timeline, _SIGNS)):
        kind = clue.event.kind if clue.event else ""
        if kind == "job.cancelled" and clue.event and _by_its_task(timeline, clue.event):
            continue
        decisive = kind in ("job.preempted", "job.time-limit")
        if kind == "job.cancelled" and clue.event and _gave_up(timeline, clue.event):
            yield Clue(0.4, f"{clue.why}, but the job had begun and made no progress", clue.event)
            continue
        by_hand = kind in _PATIENCE or (kind == "job.sigterm" and clue.event and _BY_HAND.search(clue.event.text))
        if by_hand and not timeline.steps_before and (timeline.hung or timeline.has(*_BEGUN)):
            yield Clue(0.25, f"{clue.why}, but the job had made no progress", clue.event)
            continue
        if clue.event and _OF_MEMORY.search(clue.event.text):
            continue  # the host had no memory left
        if earlier is None or (decisive and earlier.role == "echo"):
            yield clue
        else:
            yield Clue(0.15, f"{clue.why}, after a failure", clue.event)


_KILL = re.compile(r"\bkill(?: -\S+| -s \w+)*(?P<processes>(?: \d{2,7})+)\b")


def _killed_by_hand(timeline: Timeline) -> LogEvent | None:
    """The command that killed a process which its launcher then reports as killed."""
    ended = {one.event.get("pid") for one in timeline.exits if one.signal} - {""}
    for event in timeline.of("shell.command") if ended else ():
        typed = _KILL.search(event.get("command"))
        first = next((one.event for one in timeline.exits if one.event.get("pid") in ended), None)
        if typed and first and ended & set(typed["processes"].split()) and timeline.before(event, first):
            return event
    return None


def _by_its_signal(clue: Clue) -> Clue:
    """What torchrun reports of SIGINT and SIGHUP in the words of SIGTERM, with the signal that it was."""
    if clue.event and clue.event.kind == "job.sigterm":
        for signal, pattern in (("SIGINT", _BY_HAND), ("SIGHUP", _HUNG_UP)):
            if pattern.search(clue.event.text):
                return replace(clue, why=f"the job received {signal}")
    return clue


def _gave_up(timeline: Timeline, cancelled: LogEvent) -> bool:
    """Whether somebody may have canceled a job because it stood still: it had met others, or tried to."""
    waited = timeline.first(*_MEETING, where=lambda e: timeline.before(e, cancelled))
    return not cancelled.get("why") and not timeline.steps_before and waited is not None


_MEETING = ("nccl.bootstrap", "nccl.init-start", "nccl.retry", "store.retry", "store.too-few", "store.endpoint")
"""What a job says while its ranks look for each other."""


def _by_its_task(timeline: Timeline, cancelled: LogEvent) -> bool:
    """Whether srun ended the step because one of its tasks had exited with an error (srun --kill-on-bad-exit)."""
    exits = timeline.first("job.exit", where=lambda e: e.get("how").startswith("Exited with exit code"))
    return "STEP " in cancelled.text and exits is not None and timeline.before(exits, cancelled)


def _earlier(timeline: Timeline, ended: LogEvent) -> LogEvent | None:
    """A failure before the end."""
    for event in timeline.troubles():
        own = event.kind in _SIGNS or event.kind in _ALSO
        near = event.file == ended.file and abs(event.line - ended.line) <= _AT_ONCE and event.role == "echo"
        if not own and not near and timeline.before(event, ended):
            return event
    return None


def remedy(timeline: Timeline) -> str:
    """Of an end that a person gave the job: a longer limit would not help."""
    if timeline.has("job.preempted", "job.time-limit"):
        return ""
    if event := timeline.first("job.cancelled"):
        job = event.get("job").partition(".")[0] or "JOB"
        return (
            f"Find out who canceled the job and why: sacct -j {job} -o JobID,State,ExitCode,End,Comment. A user"
            " or an administrator did so (scancel); if it had made no progress, find out why. Blast"
            " radius: none."
        )
    by_hand = timeline.first("job.sigterm", where=lambda e: _BY_HAND.search(e.text))
    if by_hand or timeline.has("job.interrupted"):
        return (
            "Ask who pressed Ctrl-C and why. If the job had made no progress, run triage on the logs of all ranks,"
            " recorded with NCCL_DEBUG=INFO; else restart it. Blast radius: none."
        )
    return ""


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The job at its limit, else the host that the scheduler names, else the process that was ended."""
    for event in timeline.of("job.time-limit"):
        if job := _LIMITED.search(event.text):
            return Offender("job", job[1])
    found = timeline.host_named("job.preempted", "job.cancelled", "job.sigterm")
    if found and not timeline.has("job.time-limit"):
        return found
    for event in timeline.of("job.preempted"):
        named = event.get("ip") or next(
            (match["name"] for one in _TAKEN if (match := one.search(event.text))), None
        )
        if named:
            return Offender("host", named)
    if shown := next(filter(None, (_shown(timeline, event) for event in timeline.of("job.preempted"))), None):
        return shown
    told = (_JOB.search(event.text) for event in timeline.of("job.preempted"))
    if job := next(filter(None, told), None):
        return Offender("job", job[1])
    if lost := timeline.part("host", "job.actor-died", name="peer"):
        return lost
    ended = (_ENDED.search(event.text) for event in timeline.of("job.sigterm"))
    return next((Offender("process", match[1]) for match in ended if match and match[1] != "1"), None)


_LIMITED = re.compile(r"\*\*\* (?:STEP|JOB) (\d+)\b.*TIME LIMIT")
"""Slurm's line on a job that it ends: each of its hosts prints one, and none of them is to blame."""
_OBJECT = re.compile(
    r"\b(?:kubectl|oc)\b.* (?:get|describe) (?:.* )?(?P<kind>pods?|po|nodes?|no|workloads?|\w*jobs?)[ /](?!-)"
    r"(?P<name>[a-z][\w.-]*)"
)
_OF_HOSTS = ("po", "no")


def _shown(timeline: Timeline, preempted: LogEvent) -> Offender | None:
    """The object of Kubernetes whose state or events the command above the line shows."""
    above = [one for one in timeline.of("shell.command") if timeline.before(one, preempted)]
    match = _OBJECT.search(above[-1].get("command")) if above and not timeline.has("job.on-node") else None
    return Offender("host" if match["kind"].startswith(_OF_HOSTS) else "job", match["name"]) if match else None
