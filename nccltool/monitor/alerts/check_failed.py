"""A check fails on a host.

## Meaning
A rule of the doctor, or another check of the newest preflight, failed on this host; without a host it is one of
all hosts together.

## Impact
What the page of the check says.

## Verify
    nccltool explain CODE                      # where the label `check` is doctor/CODE: what, why, remedy
    nccltool runs ID                           # of the preflight: the finding of any other check, and its page
    nccltool doctor                            # on the host: expected no such finding

## Causes
What the page of the check names; a setting that was changed on some hosts only is the most usual.

## Fix
The remedy of the finding. Blast radius: as its page says. Then run the preflight again.

## Escalate
To the owner of the host.
"""

EXPR = 'nccltool_check_status{status="fail"} == 1'
SEVERITY = "warning"
SUMMARY = (
    "{{ $labels.check }} fails on {{ if $labels.host }}{{ $labels.host }}{{ else }}the hosts together{{ end }}"
)
DESCRIPTION = "In the newest preflight the check {{ $labels.check }} failed."
SOURCE = "the verdict of nccltool preflight"
