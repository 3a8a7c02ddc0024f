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

EXPR = 'nccltool_host_status{status="missing"} == 1'
SEVERITY = "critical"
SUMMARY = "{{ $labels.host }} did not report"
DESCRIPTION = "The newest preflight expected {{ $labels.host }} and heard nothing of it."
SOURCE = "any"
