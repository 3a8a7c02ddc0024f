"""A host should be drained.

## Meaning
The newest preflight measured a fault on this host alone or confirmed it with another partner.

## Impact
This host slows down or corrupts every collective that includes it.

## Verify
    nccltool runs ID                           # of the preflight: the failed check and its evidence
    nccltool doctor                            # on the host; expected: no finding of severity error

## Causes
See the page of the failed check.

## Fix
Drain it: `scontrol update nodename=HOST state=drain reason=nccltool` or `kubectl cordon HOST`. For one job,
pass the file nodes.exclude of the run folder to `srun --exclude`. Blast radius: the capacity of the host;
running jobs continue.

## Escalate
Send the owner of the host the evidence folder of the failed check.
"""

EXPR = "nccltool_suspect == 1"
SEVERITY = "critical"
SUMMARY = "{{ $labels.host }} should be drained"
DESCRIPTION = "A fault was measured on {{ $labels.host }} by itself or confirmed with another partner."
SOURCE = "the verdict of nccltool preflight"
