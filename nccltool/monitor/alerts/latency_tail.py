"""The slowest calls take far longer than they did last week.

## Meaning
The 99th percentile of an operation's time is more than three times its mean over the last week, at the same size
and with the same number of ranks.

## Impact
A step waits for its slowest call. With hundreds of calls per step, the tail determines the step time.

## Verify
    nccltool probe --nodes N --op all_reduce -b 8 -e 64KiB -n 1000     # expected: the p99 of last week
    nccltool doctor --hosts LIST               # expected: no finding about CPUs, power, or noise

## Causes
* Other processes run on the cores of the ranks.
* CPU frequency scaling or C-states slow the ranks down.
* A link retransmits packets or is congested.

## Fix
Bind ranks to their own cores (srun --cpu-bind=cores or numactl --physcpubind), stop other processes on them,
and check the error counters of the links. Blast radius: none.

## Escalate
If retransmission counters grow, contact the owner of the fabric.
"""

EXPR = (
    'nccltool_latency_seconds{quantile="0.99"} > '
    '3 * avg_over_time(nccltool_latency_seconds{quantile="0.99"}[7d] offset 1d)'
)
SEVERITY = "warning"
SUMMARY = "{{ $labels.op }} has a longer tail than last week"
DESCRIPTION = (
    "At {{ $labels.bytes }} B over {{ $labels.world_size }} ranks the 99th percentile of "
    "{{ $labels.op }} is {{ $value | humanizeDuration }}, more than three times its mean over the last week."
)
SOURCE = "3: our choice; well above the run-to-run variation of a percentile of a few hundred calls"
