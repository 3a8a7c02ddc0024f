"""The newest run of a command failed, was incomplete, or was inconclusive.

## Meaning
The metric is 0 for every status except pass and warn: a check failed (exit code 1), a rank died, hung, or never
joined (3), or nothing could be checked (4). nccltool_last_run_status shows which.

## Impact
The cluster may be unhealthy. If the status is incomplete, a job on these hosts would most likely hang
or die.

## Verify
    nccltool runs                              # the newest run of the command and its exit code
    nccltool runs ID                           # its findings, each with a remedy
    nccltool triage ID                         # the root cause, from the output of the ranks

## Causes
The findings of the run show the cause. The status is unknown if there is too much noise, if there are no
thresholds, or if permissions are missing.

## Fix
Apply the remedy of the finding; nccltool explain CODE shows its page. Then run the command again: the alert clears
when a run passes. Blast radius: see the page of the finding.

## Escalate
Send the owner of the hosts that the findings name the run folder.
"""

EXPR = "nccltool_last_run_success == 0"
SEVERITY = "critical"
SUMMARY = "nccltool {{ $labels.command }} did not pass"
DESCRIPTION = "The newest run of nccltool {{ $labels.command }} failed, was incomplete, or was inconclusive."
SOURCE = "exit codes of nccltool: 0 is checked and healthy"
