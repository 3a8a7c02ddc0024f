"""Ranks received wrong data.

## Meaning
A collective completed without an error, but at least one rank received wrong elements. NCCL and Gloo do not check
results; nccltool compares them with data that it computes itself.

## Impact
Training on these hosts silently goes wrong: losses drift or become NaN hours later. Checkpoints written since
then are suspect.

## Verify
    nccltool runs                              # expected: the newest probe has status pass
    nccltool runs ID                           # the finding wrong-data names the rank and the first element
    nccltool probe --nodes 2 -c 20             # on each half of the hosts; expected: `wrong` 0 in every row

## Causes
* A GPU, host memory, a NIC, or a switch corrupts data.
* The version of the driver or of NCCL has a defect.
* Peer-to-peer traffic over PCIe goes through an IOMMU, or ACS redirects it.

## Fix
Save the run folder. Bisect the hosts: test one half at a time until you find the host that produces wrong data.
Drain it and run nccltool explain data-corruption. Blast radius: the jobs of the drained host.

## Escalate
Send the owner of the hardware the run folder, the output of `nccltool doctor --format json`, and the kernel log.
"""

EXPR = "max_over_time(nccltool_wrong_elements_total[7d]) > 0"
SEVERITY = "critical"
SUMMARY = "Wrong data in {{ $labels.op }}"
DESCRIPTION = "{{ $value | humanize }} wrong elements were received in {{ $labels.op }} within the last 7 days."
SOURCE = "even one wrong element is a fault"
