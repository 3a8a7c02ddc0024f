"""The newest run of a command failed, did not complete, or could not judge.

## Meaning
The metric is 0 for every end but pass and warn: a check failed (exit 1), a rank died, hung or never came (3),
or nothing could be judged (4). nccltool_last_run_status says which.

## Impact
The cluster is not known to be healthy. With status incomplete, a job on these hosts would most likely hang or
die.

## Verify
    nccltool runs                              # the newest run of the command, and its exit code
    nccltool runs ID                           # its findings, each with a remedy
    nccltool triage DIR/ID/log.txt             # the root cause, out of what the ranks printed

## Causes
What the findings name. With status unknown: too noisy, no thresholds, or no permission to look.

## Fix
The remedy of the finding; its page is in docs/findings.md. Blast radius: as it says. Then run the command again:
the alert ends with the first run that passes.

## Escalate
To the owner of the hosts that the findings name, with the run folder.
"""

EXPR = "nccltool_last_run_success == 0"
SEVERITY = "critical"
SUMMARY = "nccltool {{ $labels.command }} did not pass"
DESCRIPTION = "The newest run of nccltool {{ $labels.command }} failed, did not complete, or could not judge."
SOURCE = "exit codes of nccltool: 0 is judged and healthy"
