"""The job failed, and the logs do not say why.

## Meaning
The logs show that something failed, but no line shows why.

## Impact
The job did not complete. A restart may or may not help.

## Verify
    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log COMMAND
    nccltool triage /tmp      # expected: a label other than `other`
    dmesg -T | grep -E 'Xid|oom|mlx5|AER'      # on every host; expected: nothing since the job began

## Causes
* Only the logs of one rank are available.
* NCCL_DEBUG is not set.
* The output is truncated or was not flushed.
* The launcher hid the error.

## Fix
Restart with NCCL_DEBUG=INFO TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1, and collect the logs of all
ranks, the scheduler's record, the kernel logs of all hosts, and the flight recorder dumps. To find a rank that
hangs, run nccltool probe on the same hosts. Blast radius: none, except disk space.

## Escalate
If the collected logs still do not show a cause, escalate with all of them.
"""

from nccltool.triage.causes.base import FITS, Clue, Clues, Given, Offender, Timeline, signs

DECIDES = "logs of all ranks with NCCL_DEBUG=INFO and the kernel logs of their hosts"
EXPLAINS = frozenset[str]()

_SIGNS = {
    "bench.timeout": (0.6, "the test timed out without an earlier error"),
    "mpi.lost": (FITS, "the launcher lost a host"),
    "job.node-failed": (FITS, "the scheduler lost a host"),
    "job.of-slurm": (0.4, "Slurm reported an error of its own"),
    "nccl.warning": (0.4, "NCCL printed a warning that triage does not know"),
    "job.probe-failed": (FITS, "Kubernetes restarted a container that did not answer its probe"),
    "job.stalled": (0.4, "the job made no progress"),
}


def clues(timeline: Timeline) -> Given:
    """Every failure is this one as long as nothing better is known."""
    if timeline.failed:
        first = next(iter(timeline.troubles()), timeline.hung)
        found = [*signs(timeline, _SIGNS), Clue(0.35, "something failed", first)]
        yield max(found, key=lambda clue: clue.strength)
    elif timeline.has("job.completed", "torchrun.succeeded", "bench.average"):
        return
    elif (looked := timeline.first("job.nothing-more", "shell.tool")) and timeline.has_job:
        yield Clue(0.4, "diagnostic commands or remarks point to a fault, but no line names it", looked)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The host that the scheduler lost; else whoever failed first."""
    return timeline.part("host", "job.node-failed", name="node") or clues.host_or_rank()
