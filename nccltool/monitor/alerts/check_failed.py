"""A check fails on a host.

## Meaning
A doctor rule or another check of the newest preflight failed on this host. Without a host label, it is a check
of all hosts together.

## Impact
See the page of the check.

## Verify
    nccltool explain CODE                      # for a `check` label doctor/CODE: meaning, reason, remedy
    nccltool runs ID                           # of the preflight: the finding of any other check
    nccltool doctor                            # on the host; expected: no such finding

## Causes
See the page of the check. Most often, a setting was changed on some hosts only.

## Fix
Apply the remedy of the finding, then run nccltool preflight again. Blast radius: see the page of the check.

## Escalate
To the owner of the host.
"""

EXPR = 'nccltool_check_status{status="fail"} == 1'
SEVERITY = "warning"
SUMMARY = (
    "{{ $labels.check }} fails on {{ if $labels.host }}{{ $labels.host }}{{ else }}all hosts together{{ end }}"
)
DESCRIPTION = "The check {{ $labels.check }} failed in the newest preflight."
SOURCE = "the verdict of nccltool preflight"
