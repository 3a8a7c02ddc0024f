"""Ranks received wrong data.

## Meaning
A collective ended without an error, and at least one rank holds elements that differ from what they must be.
NCCL and Gloo do not check; nccltool does, against data that it computes.

## Impact
Trainings on these hosts go wrong without a message: losses drift, or are NaN hours later. Checkpoints that were
written since are suspect.

## Verify
    nccltool runs                              # expected: the newest probe has status pass
    nccltool runs ID                           # the finding wrong-data names the rank and the first element
    nccltool probe --nodes 2 -c 20             # on half of the hosts each: expected `wrong` 0 in every row

## Causes
A GPU, a host's memory, a NIC or a switch that corrupts; a driver or NCCL version with a defect; peer-to-peer
over PCIe through an IOMMU or ACS that redirects it.

## Fix
Drain the host that stays wrong in every half that it is in. Blast radius: its jobs. Save the run folder first.
Then see `nccltool explain data-corruption`.

## Escalate
To the owner of the hardware, with the run folder, `nccltool doctor --format json`, and the kernel's log.
"""

EXPR = "max_over_time(nccltool_wrong_elements_total[7d]) > 0"
SEVERITY = "critical"
SUMMARY = "Wrong data in {{ $labels.op }}"
DESCRIPTION = "{{ $value | humanize }} wrong elements were received in {{ $labels.op }} within the last 7 days."
SOURCE = "one wrong element is one too many"
