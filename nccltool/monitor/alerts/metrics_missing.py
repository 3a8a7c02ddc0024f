"""Prometheus has no numbers of nccltool at all.

## Meaning
No target has nccltool_last_run_timestamp_seconds: the exporter is down, was never there, or its file is gone.

## Impact
None of the other alerts can fire. Silence is no health.

## Verify
    curl -s http://HOST:9779/healthz           # expected: ok
    curl -s http://HOST:9779/metrics | head    # expected: nccltool_build_info
    ls -l /var/lib/node_exporter/*.prom        # expected: written last night, by the nightly run

## Causes
nccltool serve is not running, or listens on loopback only; a scrape configuration that lost its target; a
firewall; node_exporter without --collector.textfile.directory; no run has ever ended.

## Fix
Start what is down; for the rest see Prometheus' page of targets, which says why a scrape failed. Blast radius:
none.

## Escalate
To whoever owns Prometheus.
"""

EXPR = "absent(nccltool_last_run_timestamp_seconds)"
HOLD = "15m"
SEVERITY = "warning"
SUMMARY = "No numbers of nccltool"
DESCRIPTION = "No target shows runs of nccltool: the other alerts cannot fire."
SOURCE = "15 minutes: a restart of Prometheus or of the exporter takes less"
