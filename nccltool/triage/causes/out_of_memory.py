"""GPU or host memory is exhausted, or the OOM killer ended a process (exit code -9).

## Meaning
An allocation on the GPU or on the host failed, or the kernel killed a process because its host or cgroup ran out
of memory. The other ranks then lose the connection to it or wait for it.

## Impact
The job dies. It will die again at the same point unless it uses less memory or gets more.

## Verify
    dmesg -T | grep -iE 'oom|killed process'   # on the host of the dead rank; expected: nothing
    sacct -j JOB -o JobID,State,MaxRSS,ReqMem  # expected: MaxRSS well below ReqMem, not OUT_OF_MEMORY
    nvidia-smi --query-compute-apps=pid,used_memory --format=csv   # expected: only this job's processes
    kubectl describe pod POD | grep -A3 'Last State'               # expected: not OOMKilled

## Causes
* The batch, the sequence, or the model is too large.
* One rank has more data than the others.
* Processes of another job use the GPU.
* DataLoader workers copy the data set.
* The memory limit of the cgroup is too low.

## Fix
Reduce the micro batch size or the number of DataLoader workers, shard the model further, or request more memory
(Slurm: --mem). Blast radius: this job. Ask the owner of a foreign process before you kill it.

## Escalate
Contact the platform team if the host runs short of memory when no job is running.
"""

import re

from nccltool.triage.causes.base import FITS, SAYS, Clue, Clues, Given, LogEvent, Offender, Timeline, first_to_end

DECIDES = "kernel log (oom-kill) of the dead rank's host, or the allocation in torch's error message"
EXPLAINS = frozenset({"app-error", "nccl-bug", "preempted"})

SIGNS_OF_FAILURE = {
    "torch.oom": (SAYS, "a GPU allocation failed"),
    "cuda.oom": (0.85, "CUDA had no memory left for NCCL"),
    "host.oom": (SAYS, "a process was killed or refused memory because none was left"),
    "host.malloc": (0.85, "the host had no memory left"),
    "host.memory-limit": (FITS, "a job step reached its memory limit"),
    "mpi.killed": (FITS, "a process was killed by SIGKILL (9)"),
}
_SIGKILL = 9


def clues(timeline: Timeline) -> Given:
    """Failed allocations, and deaths by SIGKILL that no agent caused."""
    if not timeline.failed:
        return
    killed = timeline.first("job.killed")
    if killed and not timeline.hung and killed == timeline.earliest(timeline.troubles()):
        yield Clue(FITS, "a process was killed without an earlier error", killed)
    if evicted := timeline.first("job.preempted", where=lambda e: _OF_MEMORY.search(e.text)):
        yield Clue(SAYS, "the host had no memory left, so the job was evicted", evicted)
    if near := _near_limit(timeline):
        yield Clue(0.8, f"{near.get('used')} of {near.get('limit')} of memory were in use when it ended", near)
    if event := _killed(timeline):
        yield Clue(0.6, "a rank was killed by SIGKILL, which the OOM killer sends", event)


_OF_MEMORY = re.compile(r"(?i)low on resource: memory|memory ?pressure|exceed\w* memory")
_FULL = 0.9


def _near_limit(timeline: Timeline) -> LogEvent | None:
    """A use of memory near its limit, where a container ended with the code of SIGKILL, or one that hides it."""
    uses = timeline.of("host.memory-use")
    near = (event for event in uses if float(event.get("used")) >= _FULL * float(event.get("limit")))
    ends = timeline.of("job.container-exit", "torchrun.failed")
    ended = any(event.get("code") in ("137", "247") for event in ends)
    return next(near, None) if ended else None


def _killed(timeline: Timeline) -> LogEvent | None:
    if timeline.has("torchrun.unkillable", "job.terminated", "job.kills"):
        return None
    killed = next((ended.event for ended in timeline.killed_by(_SIGKILL)), None)
    ends = timeline.first("torch.timeout", "job.cancelled")
    return killed if killed and (ends is None or timeline.before(killed, ends)) else None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The rank that had no memory, else the host."""
    killed = timeline.killed_by(_SIGKILL)
    host = timeline.host_named("host.oom", "host.malloc")
    if host and not timeline.has("torch.oom", "cuda.oom"):
        return host
    for event in timeline.of("torch.oom", "cuda.oom"):
        if (rank := timeline.rank_of(event)) is not None:
            return Offender("rank", str(rank))
        if event.device is not None and timeline.nodes == 1 and timeline.has("torch.nccl-error"):
            return Offender("rank", str(event.device))  # of one host, ranks and GPUs have the same numbers
    if ranks := [one.rank for one in killed if one.rank is not None]:
        return Offender("rank", str(ranks[0]))
    if timeline.has("torch.oom"):
        failed = first_to_end(timeline)
        return Offender("rank", failed) if failed else clues.rank_or_host()
    local = [one.local for one in killed if one.local is not None]
    if local and not timeline.has("host.oom") and len(timeline.hosts) < 2 and (timeline.nodes or 1) == 1:
        return _only_child(timeline) or Offender("rank", str(local[0]))
    host = timeline.host_named("host.oom", "host.malloc", "mpi.killed") or clues.host_or_rank()
    return host or timeline.part("process", "host.oom", name="victim")


def _only_child(timeline: Timeline) -> Offender | None:
    """The process of a launcher that started one: the kernel's log names it, and its rank tells nothing."""
    children = {event.get("victim") for event in timeline.of("torchrun.sigterm")} - {""}
    return Offender("process", children.pop()) if len(children) == 1 and len(timeline.exits) == 1 else None
