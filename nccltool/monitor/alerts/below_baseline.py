"""Bus bandwidth is under the baseline.

## Meaning
An operation at a size reaches less than 90 % of what the baseline of the same cluster, world and versions says.

## Impact
Steps of trainings take longer, by their share of communication: over a rail that runs at half its rate, a step
that communicates for a third of its time takes a third longer.

## Verify
    nccltool compare baseline:NAME latest      # expected: same; worse with an interval says how much
    nccltool probe --nodes 2 --op all_reduce   # on pairs of hosts: expected the same busbw on each
    nccltool doctor --hosts LIST               # expected: no finding that the baseline did not have

## Causes
One slow host or link (all are as slow as the slowest), a NIC at a lower rate, GPUDirect off, a changed setting,
a neighbour on the fabric.

## Fix
Take out the host that is slow with every partner: `nccltool explain slow-path`. Blast radius: its jobs.

## Escalate
To the owner of the fabric, with both runs.
"""

EXPR = "nccltool_baseline_ratio < 0.9"
SEVERITY = "warning"
SUMMARY = "{{ $labels.op }} is at {{ $value | humanizePercentage }} of its baseline"
DESCRIPTION = (
    "{{ $labels.op }} at {{ $labels.bytes }} B over {{ $labels.world_size }} ranks reaches {{ $value"
    " | humanizePercentage }} of the bus bandwidth of its baseline."
)
SOURCE = "10 %: twice the spread between runs of one healthy cluster"
