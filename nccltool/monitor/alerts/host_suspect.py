"""A host should be taken out.

## Meaning
The newest preflight measured a fault on this host alone, or confirmed it with another partner.

## Impact
Every collective that it takes part in is as slow, or as wrong, as this host.

## Verify
    nccltool runs ID                           # of the preflight: which check failed on it, and its evidence
    nccltool doctor                            # on the host: expected no finding of severity error

## Causes
What the failed check names: see its page.

## Fix
Drain it: `scontrol update nodename=HOST state=drain reason=nccltool`, or `kubectl cordon HOST`; nodes.exclude
in the run folder is what `srun --exclude` takes. Blast radius: its capacity; running jobs go on.

## Escalate
To the owner of the host, with the evidence folder of the failed check.
"""

EXPR = "nccltool_suspect == 1"
SEVERITY = "critical"
SUMMARY = "{{ $labels.host }} should be taken out"
DESCRIPTION = "A fault was measured on {{ $labels.host }} alone, or confirmed with another partner."
SOURCE = "the verdict of nccltool preflight"
