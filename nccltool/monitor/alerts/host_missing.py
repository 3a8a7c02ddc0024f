"""A host that was expected did not report.

## Meaning
The newest preflight was asked about this host, and heard nothing of it.

## Impact
Jobs that need it do not start, or start smaller.

## Verify
    ping -c 3 HOST                             # expected: three answers
    ssh HOST uptime                            # expected: an answer within seconds
    sinfo -N -n HOST                           # Slurm: expected idle, mixed or allocated

## Causes
The host is down, being installed, cut off by a firewall or a link, or its name does not resolve.

## Fix
Bring it back, or take it off the list of expected hosts. Blast radius: none.

## Escalate
To the owner of the host.
"""

from nccltool.monitor.alerts.base import Alert

ALERT = Alert(
    expr='nccltool_host_status{status="missing"} == 1',
    severity="critical",
    summary="{{ $labels.host }} did not report",
    description="The newest preflight expected {{ $labels.host }} and heard nothing of it.",
    source="any",
)
