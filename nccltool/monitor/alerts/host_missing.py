"""An expected host did not report.

## Meaning
The newest preflight included this host but received nothing from it.

## Impact
Jobs that need the host do not start or start with fewer hosts.

## Verify
    ping -c 3 HOST                             # expected: three replies
    ssh HOST uptime                            # expected: an answer within seconds
    sinfo -N -n HOST                           # Slurm; expected: idle, mixed, or allocated

## Causes
* The host is down or being installed.
* A firewall or a failed link cuts it off from the network.
* Its name does not resolve.

## Fix
Bring the host back or remove it from the list of expected hosts. Blast radius: none.

## Escalate
Contact the owner of the host.
"""

EXPR = "nccltool_host_status == 6"
SEVERITY = "critical"
SUMMARY = "{{ $labels.host }} did not report"
DESCRIPTION = "The newest preflight expected {{ $labels.host }} but received nothing from it."
SOURCE = "one is enough"
