"""The newest validation is too old.

## Meaning
The newest run of a command is older than 36 hours. Its numbers may look current on a dashboard, but they are
not.

## Impact
Faults since then go unnoticed. A nightly run that hangs or never starts looks like a healthy cluster.

## Verify
    nccltool runs                              # expected: a run from last night
    systemctl list-timers 'nccltool*'          # expected: NEXT within a day, LAST last night
    kubectl get cronjob,job                    # expected: LAST SCHEDULE within a day, no failed jobs

## Causes
* The timer is off, the CronJob is suspended, or either fails before nccltool starts.
* The scheduler finds no free nodes.
* Runs continue, but the export of their results fails.
* Someone ran the command once by hand. In that case, limit the rule to scheduled commands:
  `nccltool_last_run_timestamp_seconds{command="preflight"}`.

## Fix
Run systemctl start nccltool-nightly (or kubectl create job --from=cronjob/NAME TEST) and check its result, then
repair the schedule. Blast radius: a nightly suite occupies its nodes for minutes.

## Escalate
Contact the owner of the schedule.
"""

EXPR = "time() - nccltool_last_run_timestamp_seconds > 129600"
HOLD = "15m"
SEVERITY = "warning"
SUMMARY = "nccltool {{ $labels.command }} has not run for {{ $value | humanizeDuration }}"
DESCRIPTION = "The newest run of nccltool {{ $labels.command }} began {{ $value | humanizeDuration }} ago."
SOURCE = "36 hours: one missed nightly run plus half a day"
