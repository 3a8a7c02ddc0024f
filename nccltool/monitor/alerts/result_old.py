"""No validation ran for too long.

## Meaning
The newest run of a command is older than 36 hours. Numbers may look fresh on a dashboard; they are not.

## Impact
Faults since then are not seen. A nightly run that hangs or is not started looks like a healthy cluster.

## Verify
    nccltool runs                              # expected: a run from last night
    systemctl list-timers 'nccltool*'          # expected: NEXT within a day, LAST last night
    kubectl get cronjob,job                    # expected: LAST SCHEDULE within a day, no failed jobs

## Causes
The timer or CronJob is off, suspended or fails before nccltool starts; the scheduler finds no free nodes; the
export of results broke, while runs go on. Or the command was run by hand, once: let the rule ask for the commands
that are scheduled, as `nccltool_last_run_timestamp_seconds{command="preflight"}`.

## Fix
Start the run by hand and see how it ends; then mend what starts it. Blast radius: a nightly suite takes its
nodes for minutes.

## Escalate
To whoever owns the schedule.
"""

EXPR = "time() - nccltool_last_run_timestamp_seconds > 129600"
HOLD = "15m"
SEVERITY = "warning"
SUMMARY = "nccltool {{ $labels.command }} has not run for {{ $value | humanizeDuration }}"
DESCRIPTION = "The newest run of nccltool {{ $labels.command }} began {{ $value | humanizeDuration }} ago."
SOURCE = "36 hours: a nightly run that failed once, and half a day"
