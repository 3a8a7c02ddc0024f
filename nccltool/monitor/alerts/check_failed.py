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

from nccltool.monitor.alerts.base import Alert

ALERT = Alert(
    expr='nccltool_check_status{status="fail"} == 1',
    severity="warning",
    summary="{{ $labels.check }} fails on {{ if $labels.host }}{{ $labels.host }}{{ else }}the hosts "
    "together{{ end }}",
    description="In the newest preflight the check {{ $labels.check }} failed.",
    source="the verdict of nccltool preflight",
)
