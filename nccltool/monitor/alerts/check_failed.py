"""A check fails on a host.

## Meaning
A doctor rule or another check of the newest preflight failed on this host. An alert without a host label is about
a check that covers all hosts together.

## Impact
See the page of the check.

## Verify
    nccltool explain CODE                      # for a `check` label doctor/CODE: meaning, reason, remedy
    nccltool runs ID                           # of the preflight: the finding of any other check
    nccltool doctor                            # on the host; expected: no such finding

## Causes
The page of the check lists its causes. The most common one is a setting that was changed on only some hosts.

## Fix
Apply the remedy of the finding, then run nccltool preflight again. Blast radius: see the page of the check.

## Escalate
Contact the owner of the host.
"""

EXPR = "nccltool_check_status == 2"
SEVERITY = "warning"
SUMMARY = (
    "{{ $labels.check }} fails on {{ if $labels.host }}{{ $labels.host }}{{ else }}all hosts together{{ end }}"
)
DESCRIPTION = "The check {{ $labels.check }} failed in the newest preflight."
SOURCE = "the verdict of nccltool preflight"
