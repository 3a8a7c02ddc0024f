"""Bus bandwidth is below the baseline.

## Meaning
At one size, the bus bandwidth of an operation is less than 90 % of the baseline for the same cluster,
world size, and versions.

## Impact
Training steps take longer, in proportion to their share of communication. At half the bandwidth, a step that
spends a third of its time in communication takes a third longer.

## Verify
    nccltool compare baseline:NAME latest      # expected: same; `worse` shows the difference and its interval
    nccltool probe --nodes 2 --op all_reduce   # on pairs of hosts; expected: the same busbw on each
    nccltool doctor --hosts LIST               # expected: no new findings since the baseline

## Causes
* One host or link is slow; a collective is only as fast as its slowest rank.
* A NIC runs at a lower rate.
* GPUDirect RDMA is off.
* A setting changed.
* Other traffic uses the fabric.

## Fix
Drain the host that is slow with every partner, then run nccltool explain slow-path. Blast radius: its jobs.

## Escalate
Send the owner of the fabric both runs.
"""

EXPR = "nccltool_baseline_ratio < 0.9"
SEVERITY = "warning"
SUMMARY = "{{ $labels.op }} is at {{ $value | humanizePercentage }} of its baseline"
DESCRIPTION = (
    "{{ $labels.op }} at {{ $labels.bytes }} B over {{ $labels.world_size }} ranks reaches {{ $value"
    " | humanizePercentage }} of the bus bandwidth of its baseline."
)
SOURCE = "10 %: twice the spread between runs of one healthy cluster"
