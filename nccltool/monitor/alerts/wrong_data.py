"""Ranks received wrong data.

## Meaning
A collective completed without an error, but at least one rank received wrong elements. NCCL and Gloo do not check
results; nccltool compares them with data that it computes itself.

## Impact
Training on these hosts silently goes wrong: losses drift, or become NaN hours later. Checkpoints written since
then are suspect.

## Verify
    nccltool runs                              # expected: the newest probe has status pass
    nccltool runs ID                           # the finding wrong-data names the rank and the first element
    nccltool probe --nodes 2 -c 20             # on each half of the hosts; expected: `wrong` 0 in every row

## Causes
A GPU, host memory, NIC or switch that corrupts data; a driver or NCCL version with a defect; peer-to-peer over
PCIe through an IOMMU, or with ACS redirection.

## Fix
Save the run folder. Halve the set of hosts until you find the host that produces wrong data, and drain it. Then
run nccltool explain data-corruption. Blast radius: the jobs of the drained host.

## Escalate
To the owner of the hardware, with the run folder, `nccltool doctor --format json`, and the kernel log.
"""

EXPR = "max_over_time(nccltool_wrong_elements_total[7d]) > 0"
SEVERITY = "critical"
SUMMARY = "Wrong data in {{ $labels.op }}"
DESCRIPTION = "{{ $value | humanize }} wrong elements were received in {{ $labels.op }} within the last 7 days."
SOURCE = "even one wrong element is a fault"
