"""The slowest calls take far longer than they used to.

## Meaning
The 99th percentile of an operation's time is over three times its own mean of the last week, at the same size over
the same ranks.

## Impact
A step waits for its slowest call: with hundreds of calls a step, the tail is the step.

## Verify
    nccltool probe --nodes N --op all_reduce -b 8 -e 64KiB -n 1000     # expected: the p99 of last week
    nccltool doctor --hosts LIST               # expected: no finding about CPUs, power or noise

## Causes
Other processes on the cores of the ranks, CPU frequency or C-states, a link that retransmits, congestion.

## Fix
Bind ranks to their own cores, stop what runs beside them, look at the links' error counters. Blast radius: none.

## Escalate
To the owner of the fabric, where counters of retransmissions grow.
"""

EXPR = (
    'nccltool_latency_seconds{quantile="0.99"} > '
    '3 * avg_over_time(nccltool_latency_seconds{quantile="0.99"}[7d] offset 1d)'
)
SEVERITY = "warning"
SUMMARY = "{{ $labels.op }} has a longer tail than last week"
DESCRIPTION = (
    "At {{ $labels.bytes }} B over {{ $labels.world_size }} ranks the 99th percentile of "
    "{{ $labels.op }} is {{ $value | humanizeDuration }}, over three times its mean of the last week."
)
SOURCE = "3: chosen; it must be well over what the percentile of some hundred calls varies by from run to run"
