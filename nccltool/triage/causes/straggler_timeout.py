"""A rank was late: it was slow or stuck outside the collective.

## Meaning
Most ranks wait in a collective that one rank has not entered, until the watchdog stops them. The suspect is the
rank that does not report a timeout.

## Impact
The job hangs until the timeout (10 minutes by default with NCCL, 30 minutes otherwise), then dies.

## Verify
    grep -h 'Watchdog caught' LOG | grep -o 'Rank [0-9]*' | sort -u    # expected: all ranks except the late one
    py-spy dump --pid PID  # on the late rank, while it hangs; expected: inside the collective
    grep -h 'last enqueued' LOG | sort -u      # expected: equal numbers; the late rank has the smallest
    iostat -x 5; nfsstat -c                    # on its host, while it reads data or writes a checkpoint

## Causes
* Work on one rank (preprocessing, saving, evaluation) takes longer than the timeout.
* A DataLoader waits for storage.
* A rank is deadlocked, or one of its threads holds the GIL.
* A GPU is slow or throttled.
* Garbage collection or a debugger delays a rank.

## Fix
Run py-spy dump --pid PID on the late rank. If its work is correct but takes long, spread it across all ranks or
raise the timeout: init_process_group(timeout=timedelta(hours=2)). Blast radius: this job; a longer timeout also
delays the report of real failures.

## Escalate
Contact the owner of the training code, or the storage team if the late rank waits for files.
"""

import re
from collections import Counter

from nccltool.triage.causes.base import FITS, TYPICAL, Clue, Clues, Given, Offender, Timeline
from nccltool.triage.timeline import work
from nccltool.triage.timeline.exits import ProcessExit
from nccltool.triage.timeline.stacks import ProcessStack

DECIDES = "the stack of the rank that did not time out (py-spy or flight recorder)"
EXPLAINS = frozenset({"peer-exited", "other"})

SIGNS_OF_FAILURE = {
    "torch.behind": (0.85, "the log names ranks that did not join"),
    "torch.no-dump": (0.4, "a rank left no flight recorder dump, but the others did"),
    "hvd.stalled": (0.8, "Horovod waited for ranks that never joined"),
    "torch.barrier": (0.85, "a rank did not reach the barrier"),
    "torch.barrier-echo": (FITS, "a rank waited in a barrier that another one did not reach"),
    "torch.dump-signal": (FITS, "ranks were told that a collective timed out"),
    "torch.no-block": (0.5, "a process waited for another one on its host"),
    "torch.stuck": (0.6, "a rank or its watchdog got stuck"),
    "torch.timeout": (0.5, "a collective timed out"),
    "gloo.timeout": (FITS, "Gloo timed out waiting for a peer"),
    "job.stalled": (0.3, "a rank reported no progress"),
    "host.no-storage": (FITS, "a file server did not respond"),
    "kernel.hung": (FITS, "the kernel reported a task that waits for a device or a file system"),
    "store.get-failed": (0.45, "a rank timed out waiting for a key in the store"),
}
_WAITED = ("torch.timeout", "torch.dump-signal", "torch.barrier-echo", "gloo.timeout", "store.get-failed")
"""Lines of ranks that waited: who writes one is not who came late."""
_WRITER = re.compile(r"(?i)\b(?:rank|trainer|worker|task)[ :=_]?(?P<rank>\d{1,5})\b(?!/|\.\d)")
_SIGKILL, _SIGABRT = 9, 6
_FEW = 4
"""Ranks that may be missing before it is no single straggler but a log that lacks most ranks."""


def clues(timeline: Timeline) -> Given:
    """Ranks that wait, and the ones that are not among them."""
    if not timeline.failed:
        return
    at_work = work.beside_wait(timeline)
    if at_work:
        what = at_work.text.strip()[:60]
        yield Clue(TYPICAL, f"ranks waited while a process was still working: {what}", at_work)
    if alone := timeline.odd:
        yield Clue(0.75, f"only {alone.of} {alone.name} had not got to where the others waited", alone.event)
    if (odd := elsewhere(timeline)) is not None:
        yield Clue(TYPICAL, "a process was not in the collective that the others waited in", odd.event)
    event = timeline.first("torch.timeout")
    if event and not silent(timeline) and behind(timeline) is None and _all_alike(timeline) and not at_work:
        yield Clue(-0.5, "the ranks waited in the same call, and none is known to be late", event)
    if event and silent(timeline):
        names = ", ".join(map(str, sorted(silent(timeline))))
        strength = TYPICAL if len(silent(timeline)) == 1 or timeline.world_size else 0.4
        yield Clue(strength, f"rank {names} is missing among the ranks that timed out", event)
    if (ended := unmoved(timeline)) is not None:
        yield Clue(0.55, f"rank {ended.rank} had to be killed, while the others exited by themselves", ended.event)
    if (late := behind(timeline)) is not None:
        status = timeline.first("torch.status", where=lambda e: e.rank == late)
        yield Clue(0.6, f"rank {late} enqueued fewer collectives than the others", status)


def elsewhere(timeline: Timeline) -> ProcessStack | None:
    """The one process that did not wait, where stacks show others in a collective."""
    stacks = timeline.stacks
    others = [stack for stack in stacks if not stack.waits]
    inside = [stack for stack in stacks if stack.operation]
    return others[0] if len(others) == 1 and len(inside) >= 1 and len(stacks) > 1 else None


def _all_alike(timeline: Timeline) -> bool:
    """Several ranks wait in one call: whoever does not is not in the log, or nobody is late."""
    ranks = {timeout.rank for timeout in timeline.timeouts}
    return len(ranks) > 1 and len({(timeout.sequence, timeout.op) for timeout in timeline.timeouts}) == 1


def silent(timeline: Timeline) -> frozenset[int]:
    """The few ranks of the world that do not time out while the others do."""
    waiting = {event.rank for event in timeline.of("torch.timeout", "torch.status", "torch.down")}
    waiting.discard(None)
    named = (event.rank + 1 for event in timeline.everything() if event.rank is not None)
    world = timeline.world_size or max(named, default=0)
    missing = frozenset(range(world)) - waiting
    if len(waiting) < 2:  # it may be the log of that rank alone
        missing &= {event.rank for event in timeline.everything() if event.rank is not None}
    if len(missing) > _FEW and len(waiting) > 1:  # of the others the log has nothing
        missing &= {event.rank for event in timeline.of("job.progress", "job.at-work") if event.rank is not None}
    few = 1 if len(waiting) < 2 else len(waiting) - 1 if timeline.world_size is None else len(waiting)
    return missing if 0 < len(missing) <= min(_FEW, few) and world > 1 else frozenset()


def _only_other(timeline: Timeline) -> int | None:
    """The one rank of which the log has lines and no timeout, where several others timed out."""
    waiting = {timeout.rank for timeout in timeline.timeouts} - {None}
    others = {event.rank for event in timeline.everything()} - waiting - {None}
    return others.pop() if len(waiting) > 1 and len(others) == 1 else None


def unmoved(timeline: Timeline) -> ProcessExit | None:
    """The rank that was killed at the end while others aborted: it did not even react to its watchdog."""
    killed = [ended for ended in timeline.killed_by(_SIGKILL) if ended.rank is not None]
    return killed[0] if len(killed) == 1 and timeline.killed_by(_SIGABRT) and timeline.timeouts else None


def behind(timeline: Timeline) -> int | None:
    """The rank whose last enqueued work is less than that of all others."""
    told = (event for event in timeline.of("torch.status") if event.rank is not None)
    last = {event.rank: int(event.get("enqueued")) for event in told}
    least = min(last.values(), default=0)
    lowest = [rank for rank, number in last.items() if number == least]
    return lowest[0] if len(lowest) == 1 and len(last) > 1 else None


def remedy(timeline: Timeline) -> str:
    """Of processes that have ended: their stacks cannot be taken any more."""
    if not timeline.exits and not timeline.has("torch.down", "torchrun.sigterm", "job.cancelled", "job.killed"):
        return ""
    return (
        "The processes have ended, so record what the late rank does next time: set"
        " TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1, and run py-spy dump --pid PID on it"
        " while the others wait. If its work is correct but takes long, spread it across all ranks or raise the"
        " timeout: init_process_group(timeout=timedelta(hours=2)). Blast radius: this job; a longer timeout also"
        " delays the report of real failures."
    )


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    for event in timeline.of("torch.barrier", "torch.behind", "hvd.stalled", "hvd.row", "torch.no-dump"):
        ranks = event.get("ranks")
        if event.kind == "hvd.row" and event.task is not None:
            ranks = str(event.task)  # Horovod writes the rank where srun writes its label
        if ranks:
            return Offender("rank", ranks.split(",")[0].strip())
    busy = work.beside_wait(timeline)
    odd = elsewhere(timeline)
    if alone := timeline.odd:
        return Offender("host" if alone.of in ("host", "node") else "rank", alone.name)
    if busy and (told := _WRITER.search(busy.text.partition("%")[0])):
        return Offender("rank", str(int(told["rank"])))
    named = (timeline.rank_of(busy) if busy else None, odd.rank if odd else None)
    for rank in (one for one in named if one is not None):
        return Offender("rank", str(rank))
    if busy and busy.host and timeline.nodes != 1:
        return Offender("host", busy.host)
    if busy and not any(timeout.rank == 0 for timeout in timeline.timeouts):
        return Offender("rank", "0")  # what one rank does for all, the first one does
    missing = silent(timeline)
    if len(missing) != 1 and (slowest := behind(timeline)) is not None and len(timeline.of("torch.status")) > 2:
        return Offender("rank", str(slowest))
    if missing:
        return Offender("rank", str(_busiest(timeline, missing)))
    ended = unmoved(timeline)
    candidates = (_only_other(timeline), ended.rank if ended else None, behind(timeline), _still_there(timeline))
    late = next((rank for rank in candidates if rank is not None), None)
    return Offender("rank", str(late)) if late is not None else _waited_for(timeline, clues)


def _waited_for(timeline: Timeline, clues: Clues) -> Offender | None:
    """The rank whose key others waited for, else whoever a line names that does not only tell of a wait."""
    if peer := timeline.part("rank", "store.get-failed", name="peer"):
        return peer
    proof = next(iter(clues.proofs()), None)
    return None if proof and proof.kind in _WAITED else clues.rank_or_host()


def _still_there(timeline: Timeline) -> int | None:
    """The one process of a host that its launcher had to end, where the others had given up their wait."""
    gone = {ended.local for ended in timeline.killed_by(_SIGABRT) if ended.local is not None}
    ended = {event.get("victim") for event in timeline.of("torchrun.sigterm")} - {""}
    late = set(range(len(gone) + len(ended))) - gone
    return late.pop() if timeline.nodes <= 1 and gone and len(ended) == len(late) == 1 else None


def _busiest(timeline: Timeline, missing: frozenset[int]) -> int:
    """Of several missing ranks the one that the log shows at work most often."""
    seen = Counter(event.rank for event in timeline.everything() if event.rank in missing)
    return max(sorted(missing), key=lambda rank: seen[rank])
