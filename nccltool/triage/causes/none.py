"""Nothing failed, even if some lines look like errors.

## Meaning
The logs show no failure or only failures from which the job recovered. Healthy runs also log warnings about
plugins that are not installed, refused connections that a retry fixed, failed allocations that the program
handles, and worker groups that restarted and then finished.

## Impact
None.

## Verify
    sacct -j JOB -o State,ExitCode     # expected: COMPLETED, 0:0
    grep -c 'Init COMPLETE' LOG        # expected: the number of ranks or a multiple of it

## Causes
* The run was successful.
* The log ends before the failure or does not include the host on which it happened.

## Fix
Nothing to do. Blast radius: none. If the job did fail, run triage on the logs of all ranks and of the scheduler,
recorded with NCCL_DEBUG=INFO.

## Escalate
Escalate only if the job failed and the complete logs show no failure.
"""

from nccltool.triage.causes.base import Clue, Clues, Given, Offender, Timeline
from nccltool.triage.incident import early_ends
from nccltool.triage.logs.base import CUT, UNREAD

DECIDES = "exit code of the job and logs of all ranks"
EXPLAINS = frozenset[str]()


def clues(timeline: Timeline) -> Given:
    """It speaks for this that nothing failed, more so when the end is there."""
    if timeline.failed:
        return
    judged = timeline.first("job.judged-good")
    ended = judged or timeline.first("bench.average", "torchrun.succeeded", "job.completed", "nccl.destroyed")
    if judged:
        yield Clue(0.97, "the log reports that a test passed", judged)
    elif ended:
        yield Clue(0.9, "the job completed", ended)
    else:
        works = timeline.first("job.progress", "job.serving", "bench.row", "nccl.init-complete", "nccl.rings")
        told = "it made progress, and no line reports a failure" if works else "no line reports a failure"
        yield Clue(0.5 if works else 0.4, told, works)
    if cut := early_ends(timeline.ends_early):
        yield Clue(-0.6, cut, timeline.first(CUT))
    if missing := timeline.first(UNREAD):
        yield Clue(-0.6, "a file could not be read", missing)
    if (looked := timeline.first("shell.tool", "job.nothing-more")) and ended and timeline.before(looked, ended):
        yield Clue(-0.2, "diagnostic commands were run before the job completed", looked)
    elif looked and timeline.has_job:
        yield Clue(-0.6, "diagnostic commands or remarks point to a fault", looked)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    return None
