"""A watched job hangs.

## Meaning
`nccltool attach --watch` found that no rank of the job moves. The alert ends when the
job has moved in two looks, or its ranks are gone.

## Impact
The job holds its nodes and makes no progress until its watchdog or its user ends it.

## Verify
    nccltool attach                            # on a host of the job; expected: the same verdict, exit code 1
    nccltool attach --save DIR                 # saves the evidence before the job ends

## Causes
See the cause of `nccltool_job_suspect` and the remedy in the report of the watch.

## Fix
Follow the remedy. Blast radius: this job; `attach` itself changes nothing.

## Escalate
Send the folder of `--save` to the owner of the job, or of the host if a host is the suspect.
"""

EXPR = 'nccltool_job_incident{state="hung"} == 1'
SEVERITY = "critical"
SUMMARY = "The job watched by {{ $labels.instance }} hangs"
DESCRIPTION = "No rank of the job that {{ $labels.instance }} watches has moved since its newest looks."
SOURCE = "the verdict of nccltool attach"
