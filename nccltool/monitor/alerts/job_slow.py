"""The steps of a watched job have become slower.

## Meaning
`nccltool attach --watch` found that steps take 1.5 times as long as before, or that the others wait for one rank
again and again.

## Impact
The job takes longer, on all its nodes.

## Verify
    nccltool attach                            # on a host of the job; expected: slow, and the rank it waits for

## Causes
One rank without enough CPU time, a GPU with lowered clocks, slow storage, or a network with errors: see the cause
of `nccltool_job_suspect`.

## Fix
Follow the remedy in the report of the watch. Blast radius: this job; `attach` itself changes nothing.

## Escalate
Contact the owner of the host that `nccltool_job_suspect` names.
"""

EXPR = 'nccltool_job_incident{state="slow"} == 1'
HOLD = "5m"
SEVERITY = "warning"
SUMMARY = "The job watched by {{ $labels.instance }} has become slow"
DESCRIPTION = (
    "Steps of the job that {{ $labels.instance }} watches take longer than before, or one rank is always last."
)
SOURCE = "the verdict of nccltool attach; 5 minutes, since evaluation and checkpoints also take longer than a step"
