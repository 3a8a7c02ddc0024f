"""Nothing failed, whatever some lines look like.

## Meaning
No line says that something failed and was not overcome. Warnings of plugins that are not installed, refused
connections that were tried again, an allocation that a program handles, and a worker group that was restarted
and then finished are part of healthy runs.

## Impact
None.

## Verify
    sacct -j JOB -o State,ExitCode     # expected: COMPLETED, 0:0
    grep -c 'Init COMPLETE' LOG        # expected: the number of ranks, or a multiple of it

## Causes
A run that went well; or a log that ends before the failure, or lacks the host where it happened.

## Fix
Nothing to do. Blast radius: none. If the job did fail, give triage the logs of all ranks and of the scheduler,
taken with NCCL_DEBUG=INFO.

## Escalate
Only when the job failed and the complete logs still say nothing.
"""

from nccltool.triage.causes.base import Clue, Clues, Given, Offender, Timeline

DECIDES = "the exit code of the job, and the logs of all its ranks"
EXPLAINS = frozenset[str]()


def clues(timeline: Timeline) -> Given:
    """It speaks for this that nothing failed, more so when the end is there."""
    if timeline.failed:
        return
    ended = timeline.first("bench.average", "torchrun.succeeded", "job.completed", "nccl.destroyed")
    if ended:
        yield Clue(0.9, "the job came to its end in order", ended)
    else:
        yield Clue(0.6, "no line says that something failed", timeline.first("nccl.init-complete"))


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    return None
